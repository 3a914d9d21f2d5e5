import { type Agent, defineAgent, defineSupervisor, defineTool, type FanOutPolicy, runAgent, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { pairing, results, text, turn } from '../support/turns.ts';

type Worker = Agent<string, unknown, unknown>;

const never = () => new Promise<never>(() => {});

/** A worker by its fate: it answers, fails, or waits until it is stopped. */
const worker = (name: string, more: object = {}): Worker =>
  defineAgent({ name, description: name, instructions: name, ...more });
const supervisor = (fanOut: FanOutPolicy, workers: readonly Worker[], more: object = {}) =>
  defineSupervisor({ name: 'lead', instructions: 'lead', workers, fanOut, ...more });
const go = (...names: string[]) => turn(...names.map((name) => [`delegate_${name}`, { task: name }] as const));

/** Workers named good… answer at once, bad… fail at once, slow… wait until they are stopped. */
function model(...names: string[]) {
  return scriptedModel(async (request, { agent = '', signal }) => {
    if (agent === 'lead') return request.messages.length === 1 ? go(...names) : text('done');
    if (agent.startsWith('good')) return text(agent.toUpperCase());
    if (agent.startsWith('bad')) throw new Error('socket');
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
}

const run = (fanOut: FanOutPolicy, names: readonly string[], more: object = {}) =>
  runAgent(
    supervisor(
      fanOut,
      [...new Set(names)].map((name) => worker(name)),
    ),
    'go',
    { model: model(...names), ...more },
  );

describe('a fan-out', () => {
  it('that collects leaves every worker to its own end', async () => {
    const result = await run('collect', ['good', 'bad', 'good2']);
    expect(results(result.messages).map(({ isError }) => isError)).toEqual([false, true, false]);
  });

  it('that races ends with the first that completes; the others are cancelled and say so', async () => {
    const result = await run('race', ['bad', 'slow', 'good', 'slow2']);
    const won = 'cancelled: The first worker of this turn to complete has won.';
    expect(results(result.messages)).toEqual([
      { text: expect.stringMatching(/^model_error: .*socket/), isError: true },
      { text: won, isError: true },
      { text: 'GOOD', isError: false },
      { text: won, isError: true },
    ]);
    expect(result.tree.children.map(({ status }) => status)).toEqual([
      'model_error',
      'cancelled',
      'completed',
      'cancelled',
    ]);
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(pairing(result.messages)).toBe('ok');
  });

  it('that races has no winner where none completes', async () => {
    const result = await run('race', ['bad', 'bad2']);
    expect(result.tree.children.map(({ status }) => status)).toEqual(['model_error', 'model_error']);
  });

  it('that fails fast stops the others at the first that did not complete', async () => {
    const result = await run('failFast', ['slow', 'bad', 'slow2']);
    expect(results(result.messages).map(({ text }) => text.split(':')[0])).toEqual([
      'cancelled',
      'model_error',
      'cancelled',
    ]);
  });

  it('with a quorum ends when enough have completed', async () => {
    const result = await run({ quorum: 2 }, ['good', 'slow', 'good2', 'slow2']);
    expect(result.tree.children.map(({ status }) => status)).toEqual([
      'completed',
      'cancelled',
      'completed',
      'cancelled',
    ]);
    expect(results(result.messages)[1]?.text).toMatch(/Enough workers of this turn have completed \(2\)/);
  });

  it('with a quorum that can no longer be reached stops the rest', async () => {
    const result = await run({ quorum: 2 }, ['bad', 'slow', 'bad2']);
    expect(results(result.messages)[1]?.text).toMatch(/^cancelled: At most 1 .* 2 are needed/);
  });

  it('counts a call that starts no worker as one that did not complete', async () => {
    const lead = supervisor('failFast', [worker('slow')]);
    const script = scriptedModel(async (request, { agent, signal }) => {
      if (agent !== 'lead')
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return request.messages.length === 1
        ? turn(['delegate_slow', { task: 'x' }], ['delegate_slow', { wrong: 1 }])
        : text('done');
    });
    const result = await runAgent(lead, 'go', { model: script });
    expect(results(result.messages).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^cancelled: /),
      expect.stringContaining('$.wrong'),
    ]);
  });

  it('leaves the other tools of its turn alone', async () => {
    const gate = Promise.withResolvers<string>();
    const own = defineTool({
      name: 'own',
      description: 'own',
      input: {},
      access: 'read',
      execute: (_, { signal }) => {
        expect(signal.aborted).toBe(false);
        return gate.promise;
      },
    });
    const lead = supervisor('race', [worker('good'), worker('slow')], { tools: [own] });
    const script = scriptedModel(async (request, { agent = '', signal }) => {
      if (agent === 'good') return text('G');
      if (agent === 'slow')
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return request.messages.length === 1
        ? turn(['delegate_good', { task: 'x' }], ['own', {}], ['delegate_slow', { task: 'x' }])
        : text('done');
    });
    const started = startRun(lead, 'go', { model: script });
    started.on('agent.end', ({ agent }) => agent === 'slow' && gate.resolve('mine'));
    const result = await started.result;
    expect(results(result.messages)).toMatchObject([{ text: 'G' }, { text: 'mine' }, { isError: true }]);
  });

  it('stops a worker that still waits for its place before it begins', async () => {
    const lead = supervisor('race', [worker('good'), worker('late')], { concurrency: 1 });
    const script = model('good', 'late', 'late');
    const result = await runAgent(lead, 'go', { model: script });
    expect(result.tree.children.map(({ status, step }) => [status, step])).toEqual([
      ['completed', 1],
      ['cancelled', 1],
      ['cancelled', 1],
    ]);
    expect(script.requests.filter(({ instructions }) => instructions === 'late')).toHaveLength(0);
  });

  it('stops a worker whose call waits for a person', async () => {
    const lead = supervisor('race', [worker('good'), worker('slow')], {
      permissions: { rules: ['ask delegate_slow'] },
    });
    const started = startRun(lead, 'go', { model: model('good', 'slow'), onIdle: 'wait' });
    const result = await started.result;
    expect(results(result.messages)[1]?.text).toMatch(/^cancelled: The first/);
    expect(started.pending()).toEqual([]);
  });

  it('waits for a loser that obeys, and abandons one that does not after its grace', async () => {
    const deaf = defineTool({ name: 'deaf', description: 'deaf', input: {}, access: 'execute', execute: never });
    const lead = supervisor('race', [worker('good'), worker('stuck', { tools: [deaf] })]);
    const begun = Promise.withResolvers<void>();
    const script = scriptedModel(async (request, { agent = '' }) => {
      if (agent === 'stuck') return turn(['deaf', {}]);
      if (agent === 'good') {
        await begun.promise;
        return text('G');
      }
      return request.messages.length === 1 ? go('good', 'stuck') : text('done');
    });
    const started = startRun(lead, 'go', { model: script, graceMs: 30, permissions: { rules: ['allow! deaf'] } });
    started.on('tool.start', ({ name }) => name === 'deaf' && begun.resolve());
    const ends: string[] = [];
    started.on('tool.end', ({ name, error }) => name === 'deaf' && ends.push(error?.kind ?? ''));
    const result = await started.result;
    expect(result.status).toBe('completed');
    expect(results(result.messages)[1]?.text).toMatch(/^cancelled: /);
    expect(ends).toEqual(['unknown_outcome']);
  });

  it('is decided by the cancel of one worker like by its failure', async () => {
    const lead = supervisor('failFast', [worker('slow'), worker('slow2')]);
    const started = startRun(lead, 'go', { model: model('slow', 'slow2') });
    started.on('model.start', ({ path }) => {
      if (path === 'lead/1.1/slow2') void started.cancel('lead/1.1/slow2', 'not needed');
    });
    const result = await started.result;
    expect(results(result.messages).map(({ text }) => text)).toEqual([
      'cancelled: Another worker of this turn did not complete.',
      'cancelled: not needed',
    ]);
  });

  it('decides nothing where its supervisor is stopped', async () => {
    const lead = supervisor('failFast', [worker('slow'), worker('slow2')]);
    const abort = new AbortController();
    const started = startRun(lead, 'go', { model: model('slow', 'slow2'), signal: abort.signal });
    let models = 0;
    started.on('model.start', ({ agent }) => agent !== 'lead' && ++models === 2 && abort.abort());
    const result = await started.result;
    expect(result.tree.children.map(({ status }) => status)).toEqual(['aborted', 'aborted']);
  });

  it('of a supervisor below another is its own', async () => {
    const inner = defineSupervisor({
      name: 'inner',
      description: 'inner',
      instructions: 'inner',
      workers: [worker('good'), worker('slow')],
      fanOut: 'race',
    });
    const lead = supervisor('collect', [inner, worker('good2')]);
    const script = scriptedModel(async (request, { agent = '', signal }) => {
      if (agent.startsWith('good')) return text(agent);
      if (agent === 'slow')
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      if (request.messages.length > 1) return text(`${agent} done`);
      return agent === 'lead' ? go('inner', 'good2') : go('good', 'slow');
    });
    const result = await runAgent(lead, 'go', { model: script });
    expect(results(result.messages).map(({ text }) => text)).toEqual(['inner done', 'good2']);
  });

  it.each([
    ['most', /lead\.fanOut/],
    [{ quorum: 0 }, /fanOut\.quorum/],
    [{ quorum: 1.5 }, /fanOut\.quorum/],
    [{ quorum: Number.POSITIVE_INFINITY }, /fanOut\.quorum/],
    [{}, /fanOut/],
    [{ quorum: 1, more: 1 }, /fanOut/],
  ])('refuses the policy %j', (policy, field) => {
    expect(() => supervisor(policy as never, [worker('good')])).toThrow(field);
  });
});
