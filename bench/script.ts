/** One call that a scripted model requests. */
export interface ScriptedCall {
  readonly id: string;
  readonly query: string;
  /** JSON text, as a provider sends it. */
  readonly arguments: string;
}

/** One agent: `steps` model calls, each but the last with `calls` tool calls, after `history` earlier messages. */
export interface AgentTask {
  readonly steps: number;
  readonly calls: number;
  readonly history?: 'none' | 'hand-made' | 'earlier run';
  /** Called when the model is called for a step, from 0. */
  readonly onStep?: (step: number) => void;
}

/** A supervisor whose first turn starts all workers; each takes `steps` model calls, with one tool call in all but the last. */
export interface TeamTask {
  readonly workers: number;
  readonly steps: number;
  readonly limit: number;
  readonly latencyMs: number;
}

/** A framework that runs agents. Preparation (definitions, scripts, histories) is not measured; the returned function is. */
export interface Contender {
  readonly name: string;
  /** The function resolves to how many tool calls ran. */
  agent(task: AgentTask): Promise<() => Promise<number>>;
  team(task: TeamTask): Promise<() => Promise<number>>;
  /** Starts a run whose first model call never settles. `keep` receives its resolver, as a socket would hold it. */
  park(keep: (settle: unknown) => void): unknown;
}

/** Earlier messages: a user's, then pairs of a call and its result, then an answer. */
export const HISTORY = 2_000;
export const historyCalls: readonly ScriptedCall[] = Array.from({ length: HISTORY / 2 - 1 }, (_, index) => call(index));

/** Every call has other arguments, so that no repeat guard fires. */
export function call(index: number): ScriptedCall {
  const query = `item ${index}`;
  return { id: `call_${index}`, query, arguments: JSON.stringify({ query }) };
}

export function answerTo(query: string): string {
  return `found ${query}`;
}

/** The scripted answer to a request, by how many messages it holds. Turns are made once: the model itself costs nothing. */
export function script<Turn>(
  task: AgentTask,
  perStep: number,
  turnOf: (calls: readonly ScriptedCall[]) => Turn,
): (messages: number) => Turn {
  const turns = Array.from({ length: task.steps }, (_, step) =>
    turnOf(step === task.steps - 1 ? [] : Array.from({ length: task.calls }, (_, n) => call(step * task.calls + n))),
  );
  const before = firstRequest(task);
  const { onStep } = task;
  return (messages) => {
    const step = (messages - before) / perStep;
    const turn = turns[step];
    if (turn === undefined) throw new Error(`a request of ${messages} messages is none of the script`);
    onStep?.(step);
    return turn;
  };
}

/** Messages of the first request. */
export function firstRequest({ history = 'none' }: AgentTask): number {
  return history === 'none' ? 1 : HISTORY + 1;
}
