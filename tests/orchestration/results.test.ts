import {
  type Agent,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Message,
  redaction,
  replayRun,
  resumeRun,
  runAgent,
  type ToolMessage,
} from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { folder, journal, killedAfter } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';
import { pairing, results, text, turn } from '../support/turns.ts';

const LONG = Array.from({ length: 4_000 }, (_, n) => `line ${n}`).join('\n');
const ada = defineAgent({ name: 'ada', description: 'Ada', instructions: 'ada' });
const lead = (more: object = {}) => defineSupervisor({ name: 'lead', instructions: 'lead', workers: [ada], ...more });

const toolMessages = (messages: readonly Message[]) =>
  messages.filter((message): message is ToolMessage => message.role === 'tool');

/** Follows the notes of what was left out until the end, and says what it has read. */
function reader(answer: string) {
  return scriptedModel((request, { agent }) => {
    if (agent === 'ada') return text(answer);
    const last = request.messages.at(-1);
    if (last?.role !== 'tool') return turn(['delegate_ada', { task: 'x' }]);
    const said = String(last.content);
    const [, next, at] = /read_result ref=(\S+) from=(\d+)/.exec(said) ?? [];
    if (next !== undefined) return turn(['read_result', { ref: next, from: Number(at) }]);
    const from = /; go on from (\d+)\]$/.exec(said)?.[1];
    const { ref } = toolMessages(request.messages).find((message) => message.ref !== undefined) ?? {};
    return from === undefined ? text('read') : turn(['read_result', { ref: ref ?? '', from: Number(from) }]);
  });
}

/** What a model has read of a long result, put together again. */
function readAgain(messages: readonly Message[]): string {
  const [cut, ...pages] = toolMessages(messages).map(({ content }) => String(content));
  const front = cut?.slice(0, cut.indexOf('\n[… ')) ?? '';
  return front + pages.map((page) => page.slice(0, page.lastIndexOf('\n['))).join('');
}

describe('a result that was cut', () => {
  it('names where the rest is, and read_result reads it to the end', async () => {
    const model = reader(LONG);
    const result = await runAgent(lead(), 'go', { model });
    const [first] = toolMessages(result.messages);
    expect(first).toMatchObject({ ref: 'lead/1.0', isError: false });
    expect(String(first?.content)).toMatch(/characters left out: read_result ref=lead\/1\.0 from=\d+ …\]/);
    expect(String(first?.content).length).toBeLessThanOrEqual(8_000);
    expect(readAgain(result.messages)).toBe(LONG);
    expect(result.status).toBe('completed');
    const lists = model.requests.filter(({ instructions }) => instructions === 'lead').map(({ tools }) => tools);
    for (const tools of lists) expect(tools).toEqual(lists[0]);
  });

  it('may be one of its own tools where the agent says so', async () => {
    const big = defineTool({ name: 'big', description: 'b', input: z.object({}), access: 'read', execute: () => LONG });
    const model = scriptedModel([
      turn(['big']),
      turn(['read_result', { ref: 'solo/1.0', from: 20_000, length: 12 }]),
      text('done'),
    ]);
    const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [big], readResult: true });
    const result = await runAgent(solo, 'go', { model });
    expect(results(result.messages)[1]).toEqual({
      text: `${LONG.slice(20_000, 20_012)}\n[characters 20000 to 20012 of ${LONG.length}; go on from 20012]`,
      isError: false,
    });
    const without = defineAgent({ name: 'solo', instructions: 'x', tools: [big] });
    const plain = scriptedModel([turn(['big']), text('done')]);
    const cut = results((await runAgent(without, 'go', { model: plain })).messages)[0]?.text;
    expect(cut).toMatch(/\n\[… \d+ characters left out …\]\n/);
    expect(plain.requests[0]?.tools.map(({ name }) => name)).toEqual(['big']);
  });

  it('keeps the fields of a worker’s output, each bounded by itself', async () => {
    const output = z.object({
      answer: z.string(),
      evidence: z.array(z.object({ source: z.string(), page: z.string() })),
    });
    const typed = defineAgent({ name: 'ada', description: 'Ada', instructions: 'ada', output });
    const evidence = ['a', 'b', 'c'].map((name) => ({
      source: `https://example.org/${name}`,
      page: name.repeat(9_000),
    }));
    const model = reader(JSON.stringify({ answer: 'yes', evidence }));
    const result = await runAgent(lead({ workers: [typed] }), 'go', { model });
    const [first, page] = results(result.messages);
    const told = JSON.parse(first?.text ?? '');
    expect(told).toMatchObject({ answer: 'yes', evidence: evidence.map(({ source }) => ({ source })) });
    expect(first?.text.length).toBeLessThanOrEqual(8_000);
    expect(told.evidence[1].page).toContain('ref=lead/1.0#/evidence/1/page from=');
    // The first field that was cut is read on where it stopped.
    expect(page?.text).toMatch(/^a+\n\[characters \d+ to 9000 of 9000; this is the end\]$/);
  });

  it('may be an error, and is then read like any other', async () => {
    const bad = defineTool({
      name: 'bad',
      description: 'b',
      input: z.object({}),
      access: 'read',
      execute: () => Promise.reject(new Error(LONG)),
    });
    const model = scriptedModel([
      turn(['bad']),
      turn(['read_result', { ref: 'solo/1.0', from: 0, length: 20 }]),
      text('done'),
    ]);
    const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [bad], readResult: true });
    const [cut, page] = results((await runAgent(solo, 'go', { model })).messages);
    expect(cut).toMatchObject({ isError: true });
    expect(page?.text).toMatch(/^bad failed: line 0\nl/);
  });

  it('is read part by part, counted over all of them', async () => {
    const parts = [
      { type: 'text', text: 'a'.repeat(5_000) },
      { type: 'text', text: 'b'.repeat(9_000) },
    ];
    const big = defineTool({
      name: 'big',
      description: 'b',
      input: z.object({}),
      access: 'read',
      execute: () => parts,
    });
    let [ref, from] = ['', 0];
    const model = scriptedModel(({ messages }) => {
      if (messages.length === 1) return turn(['big']);
      if (messages.length > 3) return text('done');
      const note = /read_result ref=(\S+) from=(\d+)/.exec(JSON.parse(JSON.stringify(messages[2])).content[1].text);
      [ref, from] = [note?.[1] ?? '', Number(note?.[2])];
      return turn(['read_result', { ref, from }]);
    });
    const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [big], readResult: true });
    const told = results((await runAgent(solo, 'go', { model })).messages)[1]?.text ?? '';
    expect(from).toBeGreaterThan(5_000);
    expect(told).toBe(`${'b'.repeat(14_000 - from)}\n[characters ${from} to 14000 of 14000; this is the end]`);
  });
});

describe('read_result', () => {
  const asks = (...args: readonly object[]) =>
    scriptedModel({
      lead: [
        turn(['delegate_ada', { task: 'x' }]),
        turn(...args.map((one) => ['read_result', one] as const)),
        text('ok'),
      ],
      ada: [text(LONG)],
    });

  it('reads nothing that this invocation was not told', async () => {
    const model = asks({ ref: 'lead/9.9' }, { ref: 'lead/1.0#/a' }, { ref: '' }, { ref: 'lead/1.0/ada' });
    const told = results((await runAgent(lead(), 'go', { model })).messages).slice(1);
    for (const one of told) expect(one.isError).toBe(true);
    expect(told[0]?.text).toBe('There is no result "lead/9.9" here. Those that were cut are: lead/1.0.');
    expect(told[1]?.text).toBe('"lead/1.0" has no "/a".');
  });

  it('says where a result ends', async () => {
    const model = asks(
      { ref: 'lead/1.0', from: LONG.length },
      { ref: 'lead/1.0', from: -1 },
      { ref: 'lead/1.0', length: 1e9 },
    );
    const told = results((await runAgent(lead(), 'go', { model })).messages).slice(1);
    expect(told[0]?.text).toContain(`the result has ${LONG.length} characters`);
    expect(told[1]?.isError).toBe(true);
    expect(told[2]?.text).toContain(`[characters 0 to 8000 of ${LONG.length}`);
  });

  it('does not keep without end: the oldest give way, and what is larger than all is not kept', async () => {
    const size = (n: number) =>
      defineTool({
        name: `t${n}`,
        description: 't',
        input: z.object({}),
        access: 'read',
        execute: () => 'x'.repeat(n * 1_000_000),
      });
    const model = scriptedModel([
      turn(['t3']),
      turn(['t2']),
      turn(['t5']),
      turn(['read_result', { ref: 'solo/1.0' }], ['read_result', { ref: 'solo/2.0', length: 3 }]),
      text('done'),
    ]);
    const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [size(2), size(3), size(5)], readResult: true });
    const told = results((await runAgent(solo, 'go', { model })).messages);
    expect(told[2]?.text).toContain('characters left out …]');
    expect(told[3]).toEqual({
      text: 'The whole of "solo/1.0" is no longer kept: call that tool again.',
      isError: true,
    });
    expect(told[4]?.text).toMatch(/^xxx\n/);
  });

  it('shows nothing that a model may not be told, also where a cut or a page goes through it', async () => {
    const secret = 'swordfish-0123456789';
    // One secret in each hundred characters: whatever is cut, one of them is at the edge.
    const leaky = Array.from({ length: 400 }, (_, n) => `${n}`.padEnd(80, '.') + secret).join('');
    const output = z.object({ page: z.string(), parts: z.array(z.string()) });
    const big = (name: string, value: unknown) =>
      defineTool({ name, description: 'b', input: z.object({}), access: 'read', execute: () => value });
    const tools = [big('whole', leaky), big('parts', [{ type: 'text', text: leaky }]), big('list', { leaky })];
    const typed = defineAgent({
      name: 'typed',
      description: 't',
      output,
      run: async () => ({ page: leaky, parts: [leaky] }),
    });
    const solo = defineSupervisor({ name: 'solo', instructions: 'x', workers: [typed], tools });
    const pages = Array.from(
      { length: 40 },
      (_, n) => ['read_result', { ref: `solo/1.${n % 4}`, from: n * 777 }] as const,
    );
    const model = scriptedModel([
      turn(['whole'], ['parts'], ['list'], ['delegate_typed', { task: 'x' }]),
      turn(...pages),
      text('done'),
    ]);
    const result = await runAgent(solo, 'go', { model, redaction: redaction({ secrets: [secret] }) });
    const told = results(result.messages);
    expect(told.slice(0, 4).every(({ text }) => text.includes('left out'))).toBe(true);
    expect(told.slice(4).filter(({ isError }) => !isError).length).toBeGreaterThan(30);
    for (let length = 6; length <= secret.length; length += 1)
      for (const { text } of told) {
        expect(text).not.toContain(secret.slice(0, length));
        expect(text).not.toContain(secret.slice(-length));
      }
    expect(JSON.parse(told[3]?.text ?? '')).toMatchObject({ page: expect.stringContaining('[redacted]') });
  });

  it('is not among the tools where the definition says so, or a cap above', async () => {
    const shown = async (agent: Agent<string, unknown, unknown>) => {
      const model = scriptedModel((_, { agent: name }) =>
        name === 'top' && model.requests.length === 1 ? turn(['delegate_lead', { task: 'x' }]) : text('ok'),
      );
      await runAgent(agent, 'go', { model });
      return model.requests.find(({ instructions }) => instructions === 'lead')?.tools.map(({ name }) => name);
    };
    expect(await shown(lead({ readResult: false }))).toEqual(['delegate_ada']);
    const below = defineSupervisor({ name: 'lead', description: 'l', instructions: 'lead', workers: [ada] });
    const top = (tools: readonly string[]) =>
      defineSupervisor({ name: 'top', instructions: 'top', workers: [delegate(below, { tools })] });
    expect(await shown(top(['delegate_ada']))).toEqual(['delegate_ada']);
    expect(await shown(top(['delegate_ada', 'read_result']))).toEqual(['delegate_ada', 'read_result']);
  });

  it('has its name for itself', () => {
    const own = defineTool({
      name: 'read_result',
      description: 'x',
      input: z.object({}),
      access: 'read',
      execute: () => 1,
    });
    expect(() => lead({ tools: [own] })).toThrow(/duplicate name read_result: readResult gives that tool/);
    expect(lead({ tools: [own], readResult: false })).toBeDefined();
    expect(() => lead({ readResult: 'yes' })).toThrow(/lead\.readResult/);
  });

  it('goes on in a conversation, under names of its own', async () => {
    const model = reader(LONG);
    const first = await runAgent(lead(), 'go', { model });
    const again = scriptedModel({
      lead: [
        turn(['delegate_ada', { task: 'y' }]),
        turn(
          ['read_result', { ref: 'lead/1.0', length: 6 }],
          ['read_result', { ref: `lead/1.0~${first.messages.length + 1}`, length: 5 }],
        ),
        text('ok'),
      ],
      ada: [text('other '.repeat(3_000))],
    });
    const input = [...first.messages, { role: 'user', content: 'and?' }] as const;
    const result = await runAgent(lead(), input, { model: again });
    const told = results(result.messages.slice(input.length));
    expect(told.map(({ text }) => text.slice(0, 6))).toEqual(['other ', 'line 0', 'other\n']);
    // What was written down and read again is known in part only.
    const copied = JSON.parse(JSON.stringify(first.messages)) as Message[];
    const other = scriptedModel({ lead: [turn(['read_result', { ref: 'lead/1.0' }]), text('ok')] });
    const blind = await runAgent(lead(), [...copied, { role: 'user', content: 'and?' }], { model: other });
    expect(results(blind.messages).at(-1)).toMatchObject({
      isError: true,
      text: expect.stringContaining('no longer kept'),
    });
    expect(pairing(blind.messages)).toBe('ok');
  });

  it('reads the same after a kill at every record, also of an earlier conversation, and replays', {
    timeout: 60_000,
  }, async () => {
    const first = await runAgent(lead(), 'go', { model: reader(LONG) });
    const script = () =>
      scriptedModel((request, { agent }) => {
        if (agent === 'ada') return text('other '.repeat(3_000));
        const step = request.messages.length - first.messages.length - 1;
        if (step === 0) return turn(['delegate_ada', { task: 'y' }]);
        if (step === 2)
          return turn(
            ['read_result', { ref: 'lead/1.0', from: 7_000 }],
            ['read_result', { ref: `lead/1.0~${first.messages.length + 1}`, from: 7_000 }],
          );
        return text('ok');
      });
    const store = journal();
    const log = `${folder()}/run.jsonl`;
    const input = [...first.messages, { role: 'user', content: 'and?' }] as const;
    const whole = await runAgent(lead(), input, {
      model: script(),
      journal: store,
      runId: 'r1',
      views: [jsonlLog(log, { content: 'full' })],
    });
    const expected = results(whole.messages);
    expect(expected.slice(-2).map(({ isError }) => isError)).toEqual([false, false]);
    const { rows = [] } = (await store.read('r1')) ?? {};
    for (const count of someNumbers(1, rows.length, 12)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const resumed = await resumeRun(lead(), 'r1', { model: script(), journal: half, onDivergence: 'stop' }).result;
      // A process that knows nothing of the conversation before cannot read it anew: what was read before stays.
      const hasRead = rows.slice(0, count).some(({ key }) => key.endsWith('.0/page'));
      if (hasRead) expect(results(resumed.messages), `after ${count}`).toEqual(expected);
      else expect(results(resumed.messages).at(-1), `after ${count}`).toEqual(expected.at(-1));
    }
    const replayed = await replayRun(lead(), { journal: store, runId: 'r1' }).result;
    expect(results(replayed.messages)).toEqual(expected);
    const logged = await replayRun(lead(), { log }).result;
    expect(results(logged.messages)).toEqual(expected);
  });
});

describe('a worker that passes through', () => {
  const passing = (more: object = {}, options: object = {}) =>
    lead({ workers: [delegate(ada, { passThrough: true, ...options })], ...more });

  it('gives its whole answer as that of its supervisor, without another turn', async () => {
    const model = scriptedModel({ lead: [turn(['delegate_ada', { task: 'x' }])], ada: [text(LONG)] });
    const result = await runAgent(passing(), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: LONG, output: LONG, steps: 2 });
    expect(pairing(result.messages)).toBe('ok');
    const again = scriptedModel(['and so on']);
    const on = await runAgent(passing(), [...result.messages, { role: 'user', content: 'and?' }], { model: again });
    expect(on.text).toBe('and so on');
  });

  it('does so only where it was the only call, and completed', async () => {
    const two = scriptedModel({
      lead: [turn(['delegate_ada', { task: 'x' }], ['delegate_ada', { task: 'y' }]), text('both')],
      ada: [text('A'), text('B')],
    });
    expect((await runAgent(passing(), 'go', { model: two })).text).toBe('both');
    const bad = scriptedModel({
      lead: [turn(['delegate_ada', { task: 'x' }]), text('it failed')],
      ada: [new Error('x')],
    });
    expect((await runAgent(passing(), 'go', { model: bad })).text).toBe('it failed');
  });

  it('is checked by the output of its supervisor, whose model goes on where it does not fit', async () => {
    const output = z.object({ answer: z.number() });
    const fits = scriptedModel({ lead: [turn(['delegate_ada', { task: 'x' }])], ada: [text('{"answer": 42}')] });
    expect(await runAgent(passing({ output }), 'go', { model: fits })).toMatchObject({
      output: { answer: 42 },
      steps: 2,
    });
    const other = scriptedModel({
      lead: [turn(['delegate_ada', { task: 'x' }]), text('{"answer": 1}')],
      ada: [text('forty-two')],
    });
    expect(await runAgent(passing({ output }), 'go', { model: other })).toMatchObject({
      output: { answer: 1 },
      steps: 3,
    });
  });

  it('comes to the same end after a kill at every record, and replays from journal and log', async () => {
    const script = () =>
      scriptedModel((_, { agent }) => (agent === 'lead' ? turn(['delegate_ada', { task: 'x' }]) : text(LONG)));
    const store = journal();
    const log = `${folder()}/run.jsonl`;
    await runAgent(passing(), 'go', {
      model: script(),
      journal: store,
      runId: 'r1',
      views: [jsonlLog(log, { content: 'full' })],
    });
    const { rows = [] } = (await store.read('r1')) ?? {};
    for (const count of someNumbers(1, rows.length - 1, 8)) {
      const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const resumed = await resumeRun(passing(), 'r1', { model: script(), journal: half, onDivergence: 'stop' }).result;
      expect(resumed).toMatchObject({ status: 'completed', text: LONG, steps: 2 });
    }
    expect(await replayRun(passing(), { journal: store, runId: 'r1' }).result).toMatchObject({
      status: 'completed',
      text: LONG,
    });
    expect(await replayRun(passing(), { log }).result).toMatchObject({ status: 'completed', text: LONG });
  });
});

describe('a timeout of a worker', () => {
  const stuck = scriptedModel(({ messages }, { agent, signal }) => {
    if (agent === 'lead') return messages.length === 1 ? turn(['delegate_ada', { task: 'x' }]) : text('done');
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });

  it('ends that worker alone', async () => {
    const workers = [delegate(ada, { timeoutMs: 20 })];
    const result = await runAgent(lead({ workers }), 'go', { model: stuck });
    expect(result.status).toBe('completed');
    expect(results(result.messages)).toEqual([{ text: 'timeout: The time limit of 20 ms is reached.', isError: true }]);
    expect(result.tree.children).toMatchObject([{ status: 'timeout' }]);
  });

  it('is the smaller of itself and the time limits', () => {
    const limits = (options: object) => delegate(ada, options).delegate?.limits;
    expect(limits({ timeoutMs: 20, limits: { timeMs: 10, steps: 2 } })).toEqual({ timeMs: 10, steps: 2 });
    expect(limits({ timeoutMs: 20, limits: { timeMs: 30 } })).toEqual({ timeMs: 20 });
    expect(() => limits({ timeoutMs: 0 })).toThrow(/timeoutMs/);
    expect(() => limits({ passThrough: 'yes' })).toThrow(/passThrough/);
  });
});
