import {
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  type Message,
  type ModelRequest,
  type Run,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { eventsOf, gate, pairing, text, turn } from '../support/turns.ts';

const wait = (opened: Promise<void>) =>
  defineTool({
    name: 'work',
    description: 'work',
    input: {},
    access: 'read',
    execute: () => opened.then(() => 'done'),
  });
const said = (messages: readonly Message[]) =>
  messages.map(({ role, content, ...rest }) => {
    const from = 'from' in rest ? ` ${rest.from}` : '';
    const words =
      typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : part.type));
    return `${role}${from}: ${words}`;
  });

/** A lead that works in its first turn until it is let go, with what it was asked. */
function working(answers: readonly string[] = ['end'], limits = {}) {
  const work = gate();
  const model = scriptedModel({ lead: [turn(['work']), ...answers.map((answer) => text(answer))] });
  const lead = defineAgent({ name: 'lead', instructions: 'Lead.', tools: [wait(work.promise)], limits });
  return { lead, model, work };
}

const started = (run: Run, type: 'tool.start' | 'model.start' | 'agent.start', path?: string) =>
  new Promise<void>((resolve) => {
    run.on(type, (event) => void ((path ?? event.path) === event.path && resolve()));
  });

describe('a steer', () => {
  it('enters after the results of the turn, before the next request, and resolves then', async () => {
    const { lead, model, work } = working();
    const run = startRun(lead, 'go', { model });
    await started(run, 'tool.start');
    let entered = false;
    const steered = run.steer('lead', 'Leave the patents out.').then(() => {
      entered = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(entered).toBe(false);
    work.open();
    await steered;
    const result = await run.result;
    expect(said(result.messages)).toEqual([
      'user: go',
      'assistant: tool_call',
      'tool: done',
      'user operator: Leave the patents out.',
      'assistant: end',
    ]);
    expect(model.requests[1]?.messages).toHaveLength(4);
    expect(pairing(result.messages)).toBe('ok');
  });

  it('is shown by the start of the step that it enters', async () => {
    const { lead, model, work } = working();
    const run = startRun(lead, 'go', { model });
    run.on('tool.start', () => {
      run.steer('lead', 'one');
      run.steer('lead', [{ type: 'text', text: 'two' }]);
      work.open();
    });
    const steps = (await eventsOf(run)).filter(({ type }) => type === 'step.start');
    expect(
      steps.map((event) => ('arrived' in event ? event.arrived?.map(({ content }) => content) : undefined)),
    ).toEqual([undefined, ['one', [{ type: 'text', text: 'two' }]]]);
  });

  it('is seen by a node that was about to end: it takes one more step', async () => {
    const asked = gate();
    const model = scriptedModel([() => asked.promise.then(() => text('first answer')), text('second answer')]);
    const run = startRun(defineAgent({ name: 'lead', instructions: 'Lead.' }), 'go', { model });
    await started(run, 'model.start');
    run.steer('lead', 'And the price?');
    asked.open();
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'second answer', steps: 2 });
    expect(said(result.messages).slice(1)).toEqual([
      'assistant: first answer',
      'user operator: And the price?',
      'assistant: second answer',
    ]);
  });

  it('is seen by the wrap-up turn where no step is left', async () => {
    const { lead, model, work } = working(['wrapped'], { steps: 1 });
    const run = startRun(lead, 'go', { model });
    run.on('tool.start', () => {
      run.steer('lead', 'Hurry');
      work.open();
    });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'step_limit', text: 'wrapped' });
    expect(said(model.requests[1]?.messages ?? [])).toContain('user operator: Hurry');
  });

  it('of the tick of startRun stands before the first request', async () => {
    const { lead, model, work } = working();
    work.open();
    const run = startRun(lead, 'go', { model });
    const steered = run.steer('lead', 'In French');
    await steered;
    await run.result;
    expect(said(model.requests[0]?.messages ?? [])).toEqual(['user: go', 'user operator: In French']);
  });

  it('reaches the worker that it names and nobody else', async () => {
    const work = gate();
    const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [wait(work.promise)] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [ada] });
    const ends: Record<string, ModelRequest> = {};
    const model = scriptedModel((request, { agent = '' }) => {
      const { length } = request.messages;
      if (agent === 'lead')
        return length === 1 ? turn(['delegate_ada', { task: 'x' }], ['delegate_ada', { task: 'y' }]) : text('end');
      if (length === 1) return turn(['work']);
      ends[String(request.messages[0]?.content)] = request;
      return text('ok');
    });
    const run = startRun(lead, 'go', { model });
    await started(run, 'tool.start', 'lead/1.1/ada');
    run.steer('lead/1.1/ada', 'You too');
    work.open();
    expect((await run.result).status).toBe('completed');
    expect(said(ends.y?.messages ?? [])).toContain('user operator: You too');
    expect(JSON.stringify(ends.x)).not.toContain('You too');
  });

  it('is trusted, unless the caller labels it', async () => {
    const send = defineTool({ name: 'send', description: 's', input: {}, access: 'write', execute: () => 'sent' });
    const label = { integrity: 'untrusted', confidentiality: 'public', origins: ['mail'] } as const;
    for (const [given, decision] of [
      ['ok', 'sent'],
      [{ role: 'user', content: 'ok', label } as const, 'denied'],
    ] as const) {
      const model = scriptedModel([turn(['send']), text('end')]);
      const lead = defineAgent({ name: 'lead', instructions: 'l', tools: [send] });
      const run = startRun(lead, 'go', { model, permissions: { mode: 'acceptAll' } });
      run.steer('lead', given);
      const result = await run.result;
      expect(String(result.messages.find(({ role }) => role === 'tool')?.content)).toContain(decision);
    }
  });

  it('after the end of its node, to a procedure, to nobody, from inside, or empty is refused at once', async () => {
    const inner = defineAgent({
      name: 'inner',
      description: 'i',
      async run() {
        return 'x';
      },
    });
    let inside: unknown;
    let running: Run | undefined;
    const look = defineTool({
      name: 'look',
      description: 'l',
      input: {},
      access: 'read',
      execute() {
        try {
          running?.steer('lead', 'from inside');
        } catch (error) {
          inside = error;
        }
        return 'looked';
      },
    });
    const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [inner], tools: [look] });
    const model = scriptedModel({ lead: [turn(['delegate_inner', { task: 'x' }], ['look']), text('end')] });
    const run = startRun(lead, 'go', { model });
    running = run;
    const refused: string[] = [];
    run.on('agent.start', ({ path }) => {
      if (path === 'lead') return;
      for (const [at, message] of [
        [path, 'x'],
        ['lead/9.9/x', 'x'],
        ['other', 'x'],
        ['lead', ' '],
        ['lead', 5],
      ] as const) {
        try {
          run.steer(at, message as string);
        } catch (error) {
          refused.push((error as ConfigurationError).message);
        }
      }
    });
    run.on('agent.end', ({ path }) => {
      if (path === 'lead') expect(() => run.steer('lead', 'late')).toThrow(/path: lead has ended: completed/);
    });
    await run.result;
    expect(refused).toEqual([
      expect.stringMatching(/^path: lead\/1\.0\/inner is the procedure inner, which has no transcript/),
      expect.stringMatching(/^path: there is no lead\/9\.9\/x in this run/),
      expect.stringMatching(/^path: "other" is not in this run/),
      expect.stringMatching(/^message: empty/),
      expect.stringMatching(/^message\.content: /),
    ]);
    expect(inside).toBeInstanceOf(ConfigurationError);
    expect(() => run.steer('lead', 'late')).toThrow(/the run is over/);
  });

  it('that its node never sees rejects, and does no harm where nobody looks', async () => {
    const { lead, model } = working();
    const run = startRun(lead, 'go', { model, graceMs: 0 });
    await started(run, 'tool.start');
    run.steer('lead', 'unheard');
    const steered = run.steer('lead', 'unheard too');
    await run.cancel();
    await expect(steered).rejects.toThrow(/path: lead ended before the message reached it/);
  });

  it('in a flood comes in order, in one step', async () => {
    const { lead, model, work } = working();
    const run = startRun(lead, 'go', { model });
    run.on('tool.start', () => {
      for (let n = 0; n < 1_000; n += 1) run.steer('lead', `m${n}`);
      work.open();
    });
    const result = await run.result;
    const words = said(result.messages).filter((one) => one.startsWith('user operator'));
    expect(words).toEqual(Array.from({ length: 1_000 }, (_, n) => `user operator: m${n}`));
    expect(result.steps).toBe(2);
  });
});

it('a run that nobody steers has no arrivals', async () => {
  const { lead, model, work } = working();
  work.open();
  const result = await runAgent(lead, 'go', { model });
  expect(said(result.messages)).toHaveLength(4);
});
