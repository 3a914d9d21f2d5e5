import type { AgentSpec, Contender, PlannedTurn, Ran, Team } from '../../bench/conformance/team.ts';

type Message = { readonly role: 'user' | 'assistant' | 'tool'; readonly content: unknown };

/** A loop with every failure of the table: each row must tell it from one that works. */
export const naive: Contender = {
  name: 'naive',
  version: '0',
  has: { tokens: 'a wish', concurrency: 'by level', approval: 'none' },
  run: (team) => new Loop(team).run(),
  // It begins again, whatever was done.
  runDurable: (team) => new Loop(team).run(),
};

class Loop {
  readonly #team: Team;
  /** One conversation an agent, whoever calls it. */
  readonly #conversations = new Map<AgentSpec, Message[]>();

  constructor(team: Team) {
    this.#team = team;
  }

  async run(): Promise<Ran> {
    const { lead, task, bounds = {} } = this.#team;
    const [text, tokens] = await this.#loop(lead, task, bounds.steps ?? 100);
    return { text, tokens };
  }

  async #loop(agent: AgentSpec, task: string, steps: number): Promise<[text: string, tokens: number]> {
    const known = this.#conversations.get(agent);
    const messages: Message[] = known ?? [];
    this.#conversations.set(agent, messages);
    messages.push({ role: 'user', content: task });
    const before = messages.filter(({ role }) => role === 'assistant').length;
    let tokens = 0;
    for (let step = 0; step < steps; step += 1) {
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1 - before;
      const said: PlannedTurn = await this.#team.think({ agent: agent.name, text: JSON.stringify(messages), turn });
      tokens += (said.usage?.input ?? 100) + (said.usage?.output ?? 10);
      messages.push({ role: 'assistant', content: said });
      if ('text' in said) return [said.text, tokens];
      const results = await Promise.all(said.calls.map((call) => this.#call(agent, call)));
      for (const content of results) messages.push({ role: 'tool', content });
    }
    return ['', tokens];
  }

  async #call(
    { tools = [], workers = [] }: AgentSpec,
    { to, query, raw }: { readonly to: string; readonly query?: string; readonly raw?: string },
  ): Promise<unknown> {
    const worker = workers.find(({ name }) => name === to);
    // A failure is an empty success, and what it spent is nobody's.
    if (worker !== undefined)
      return this.#loop(worker, query ?? '', 20).then(
        ([text]) => text,
        () => '',
      );
    let args: { query?: unknown } = {};
    try {
      args = raw === undefined ? { query } : JSON.parse(raw);
    } catch {
      // Then without.
    }
    return tools.find(({ name }) => name === to)?.execute(args.query);
  }
}
