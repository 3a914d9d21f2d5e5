import { chmodSync, mkdtempSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/core/values/errors.ts';
import { canonical, sha256 } from '../../src/core/values/json.ts';
import type { Message } from '../../src/core/values/message.ts';
import { jsonlLog, type StepLine } from '../../src/telemetry/log/log.ts';
import { logParts } from '../../src/telemetry/log/step-line.ts';
import { stepLines } from '../../src/telemetry/log/step-lines.ts';
import { node, recorder } from './recorder.ts';
import { agentOut, CANARY, modelIn, toolIn, toolOut, user, writeTeam } from './team.ts';

const file = () => join(mkdtempSync(join(tmpdir(), 'coxswain-log-')), 'run.jsonl');
const here = node('lead', 'lead');

async function linesOf(content: 'none' | 'redacted' | 'full', write: (to: ReturnType<typeof recorder>) => void) {
  const path = file();
  const log = jsonlLog(path, { content });
  write(recorder({ views: [log] }));
  await log.flush?.();
  return { text: readFileSync(path, 'utf8'), lines: parse(path), path };
}

function parse(path: string): StepLine[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StepLine);
}

/** One step whose only answer is a text. */
function step(
  to: ReturnType<typeof recorder>,
  number: number,
  request = modelIn([user('x')]),
  key = `lead/${number}/model`,
) {
  const beside = key.includes('@');
  if (!beside) to.add({ kind: 'step', event: 'started', key: `lead/${number}`, node: here, step: number });
  to.add({ kind: 'model', event: 'started', key, node: here, step: number, request });
  to.add({
    kind: 'model',
    event: 'done',
    key,
    node: here,
    step: number,
    value: { content: [{ type: 'text', text: 'ok' }], stop: 'end' },
  });
  if (!beside) to.add({ kind: 'step', event: 'done', key: `lead/${number}`, node: here, step: number });
}

describe('the step log', () => {
  it('has one start and one end line a step, in order, each with the node of the step', async () => {
    const { lines } = await linesOf('full', writeTeam);
    expect(lines.map(({ path, step: number, event }) => `${path} ${number} ${event}`)).toEqual([
      'lead 1 start',
      'lead/1.0/researcher 1 start',
      'lead/1.0/researcher 1 end',
      'lead 1 end',
      'lead 2 start',
      'lead 2 end',
    ]);
    for (const line of lines) {
      expect(line).toMatchObject({
        runId: 'run-1',
        traceId: 'a'.repeat(32),
        spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      });
      expect(new Date(line.time).toISOString()).toBe(line.time);
      expect(line.parentStep).toEqual(
        line.path === 'lead' ? undefined : { path: 'lead', step: 1, toolCallId: 'call_a' },
      );
    }
  });

  it('says on the end line what came out, what was called, what it gave and what else happened', async () => {
    const { lines } = await linesOf('full', writeTeam);
    expect(lines[2]).toMatchObject({
      status: 'model_error',
      durationMs: expect.any(Number),
      usage: { inputTokens: 3, outputTokens: 1 },
      modelOut: { stop: 'tool_calls' },
      toolCalls: [{ id: 'call_b', name: 'search' }],
      toolResults: [{ callId: 'call_b', name: 'search', isError: true, error: { kind: 'threw' } }],
      effects: [{ key: 'lead/1.0/researcher/1.0/@approval', kind: 'wait', outcome: { decision: 'allow' } }],
    });
    expect(lines[3]).toMatchObject({
      status: 'completed',
      effects: [{ kind: 'model', outcome: { ok: false, attempt: 1, delayMs: 5 } }],
    });
  });

  it('rebuilds every request: messages from the new ones, the rest from where it changed', async () => {
    const messages: Message[][] = [[user('a')], [user('a'), user('b')], [user('a'), user('c')]];
    const { lines } = await linesOf('full', (to) => {
      step(to, 1, modelIn(messages[0] ?? []));
      step(to, 2, modelIn(messages[1] ?? [], 1));
      step(
        to,
        3,
        modelIn(messages[2] ?? [], 1, { toolChoice: 'none', settings: { temperature: 1 } }),
        'lead/3/@wrapup',
      );
    });
    const starts = lines.filter(({ event }) => event === 'start');
    let rebuilt: unknown[] = [];
    let hash = '';
    starts.forEach(({ modelIn: request }, at) => {
      rebuilt = [...rebuilt.slice(0, request?.from), ...(request?.new ?? [])];
      expect(rebuilt).toEqual(messages[at]);
      hash = sha256(`${hash}|${request?.from}|${canonical(request?.new)}`);
      expect(request?.hash).toBe(hash);
    });
    expect(starts[0]?.modelIn).toMatchObject({
      model: 'openai/gpt-5',
      instructions: expect.any(String),
      tools: [{ name: 'search' }],
    });
    expect(Object.keys(starts[1]?.modelIn ?? {})).toEqual(['new', 'from', 'hash']);
    expect(starts[2]).toMatchObject({
      step: 3,
      call: '@wrapup',
      modelIn: { toolChoice: 'none', settings: { temperature: 1 } },
    });
    expect(starts[2]?.modelIn).not.toHaveProperty('instructions');
  });

  it('writes the whole request where it did not see the one before', async () => {
    const { lines } = await linesOf('full', (to) => step(to, 5, modelIn([user('a'), user('b')], 1)));
    expect(lines[0]?.modelIn).toMatchObject({ from: 0, new: [{}, {}] });
  });

  it('holds nothing that was said, without content', async () => {
    const { text, lines } = await linesOf('none', writeTeam);
    expect(text).not.toContain(CANARY);
    expect(lines[0]?.modelIn).toMatchObject({
      new: [{ role: 'user', chars: 8 + CANARY.length }],
      model: 'openai/gpt-5',
      tools: ['search'],
    });
    expect((await linesOf('full', writeTeam)).text).toContain(CANARY);
  });

  it('holds no secret, also at full', async () => {
    const secret = 'sk-proj-abcdefghijklmnop1234';
    for (const content of ['redacted', 'full'] as const) {
      const { text } = await linesOf(content, (to) => {
        to.add({
          kind: 'tool',
          event: 'done',
          key: 'lead/1.0',
          node: here,
          step: 1,
          ran: true,
          request: toolIn(),
          value: toolOut({ content: `key\n${secret}` }),
        });
        step(to, 1, modelIn([{ role: 'user', content: `https://bob:hunter2@host/ ${secret}` }]));
      });
      expect(text).not.toContain(secret);
      expect(text).not.toContain('hunter2');
    }
  });

  it('gives a procedure one pair with step 0 that holds its effects', async () => {
    const { lines } = await linesOf('full', (to) => {
      const base = { node: here, step: 0 } as const;
      to.add({
        ...base,
        kind: 'agent',
        event: 'started',
        key: 'lead',
        request: { agent: 'lead', description: '', type: 'code', brief: [], depth: 1 },
      });
      to.add({ ...base, kind: 'once', event: 'done', key: 'lead/token', value: 'a' });
      to.add({
        ...base,
        kind: 'tool',
        event: 'done',
        key: 'lead/save~1.0',
        ran: true,
        request: toolIn(),
        value: toolOut(),
      });
      to.add({ ...base, kind: 'agent', event: 'done', key: 'lead', value: agentOut() });
    });
    expect(lines).toMatchObject([
      { event: 'start', step: 0 },
      {
        event: 'end',
        step: 0,
        status: 'completed',
        toolResults: [{ name: 'search' }],
        effects: [{ kind: 'once', outcome: { value: 'a' } }, { kind: 'agent' }],
      },
    ]);
  });

  it('shows how an agent ended that had no step, and how one ended that was stopped within one', async () => {
    const base = { kind: 'agent', key: 'lead', node: here, step: 0 } as const;
    const start = {
      ...base,
      event: 'started',
      request: { agent: 'lead', description: '', type: 'model', brief: [], depth: 1 },
    } as const;
    const none = await linesOf('none', (to) => {
      to.add(start);
      to.add({ ...base, event: 'done', value: agentOut({ status: 'token_limit' }) });
    });
    expect(none.lines).toMatchObject([
      { event: 'start', step: 0 },
      { event: 'end', step: 0, status: 'token_limit' },
    ]);
    const within = await linesOf('none', (to) => {
      to.add(start);
      to.add({ kind: 'model', event: 'started', key: 'lead/1/model', node: here, step: 1, request: modelIn([]) });
      to.add({
        kind: 'run',
        event: 'suspended',
        key: 'lead',
        node: here,
        step: 1,
        value: agentOut({ status: 'suspended' }),
      });
    });
    expect(within.lines).toMatchObject([
      { event: 'start', step: 1 },
      { event: 'end', step: 1, status: 'suspended' },
    ]);
  });

  it('leaves what happened in a step to its own line, where a repair has a pair within it', async () => {
    const { lines } = await linesOf('none', (to) => {
      const model = { kind: 'model', node: here, step: 1 } as const;
      const value = { content: [], stop: 'end' } as const;
      to.add({ ...model, event: 'started', key: 'lead/1/model', request: modelIn([]) });
      to.add({ ...model, event: 'done', key: 'lead/1/model', value });
      to.add({ kind: 'once', event: 'done', key: 'lead/1/@tools', node: here, step: 1, value: 1 });
      step(to, 1, modelIn([]), 'lead/1/@repair');
      to.add({ kind: 'step', event: 'done', key: 'lead/1', node: here, step: 1 });
      to.add({ kind: 'run', event: 'done', key: 'lead', node: here, step: 1, value: agentOut() });
    });
    expect(lines.map(({ call, event, effects }) => [call, event, effects?.length])).toEqual([
      [undefined, 'start', undefined],
      ['@repair', 'start', undefined],
      ['@repair', 'end', undefined],
      [undefined, 'end', 1],
    ]);
  });

  it('ends a step that was left without an end before the next one starts', async () => {
    const { lines } = await linesOf('none', (to) => {
      to.add({ kind: 'model', event: 'started', key: 'lead/1/model', node: here, step: 1, request: modelIn([]) });
      step(to, 2);
    });
    expect(lines.map(({ step: number, event }) => `${number} ${event}`)).toEqual([
      '1 start',
      '1 end',
      '2 start',
      '2 end',
    ]);
  });

  it('is one JSON record a line, whatever a text contains', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u2028', '\u2029', '\u0085', '\0', '\ud800', '\r\n', '"\\'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (texts) => {
        const said = texts.join('');
        const { lines, text: written } = await linesOf('full', (to) =>
          step(to, 1, modelIn([{ role: 'user', content: said }])),
        );
        // Python's and other readers' line breaks.
        expect(written.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)).toHaveLength(3);
        expect(lines[0]?.modelIn?.new[0]).toEqual({ role: 'user', content: said });
      }),
      { numRuns: 50 },
    );
  });

  it('is readable by its owner only, and goes on in a new line after a line that was cut', async () => {
    const { path } = await linesOf('none', (to) => step(to, 1));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeFileSync(path, '{"half":');
    const log = jsonlLog(path);
    step(recorder({ views: [log] }), 1);
    await log.flush?.();
    expect(readFileSync(path, 'utf8').split('\n')[0]).toBe('{"half":');
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(4);
  });

  it('names a missing folder at once, and a file that cannot be written when it is flushed', async () => {
    expect(() => jsonlLog(join(file(), 'deep', 'run.jsonl'))).toThrow(ConfigurationError);
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-log-'));
    const log = jsonlLog(folder);
    chmodSync(folder, 0o700);
    step(recorder({ views: [log] }), 1);
    await expect(log.flush?.()).rejects.toThrow(/step log could not be written: EISDIR/);
  });

  it('keeps runs apart that share a file', async () => {
    const path = file();
    const log = jsonlLog(path);
    writeTeam(recorder({ run: 'one', views: [log] }));
    writeTeam(recorder({ run: 'two', views: [log] }));
    await log.flush?.();
    expect(
      parse(path)
        .map(({ runId }) => runId)
        .join(),
    ).toBe([...Array(6).fill('one'), ...Array(6).fill('two')].join());
  });
});

describe('a log that is rotated', () => {
  const messages = Array.from({ length: 12 }, (_, at) => user(`message ${at}`));
  const write = (to: ReturnType<typeof recorder>) => {
    for (let number = 1; number <= 12; number += 1) step(to, number, modelIn(messages.slice(0, number), number - 1));
  };

  async function rotated(keep: number) {
    const path = file();
    const log = jsonlLog(path, { content: 'full', maxBytes: 3_000, keep });
    write(recorder({ views: [log] }));
    await log.flush?.();
    return { path, parts: logParts(path).map(parse) };
  }

  it('loses no line, and tells the same hashes as one that is not', async () => {
    const { parts } = await rotated(50);
    const { lines } = await linesOf('full', write);
    expect(parts.length).toBeGreaterThan(2);
    const node = ({ step: number, event, modelIn: asked }: StepLine) => [number, event, asked?.hash];
    expect(parts.flat().map(node)).toEqual(lines.map(node));
  });

  it('begins each file with a whole request, so that one that is left alone can be read', async () => {
    const { parts } = await rotated(50);
    for (const part of parts) {
      const first = part.find(({ event }) => event === 'start');
      expect(first?.modelIn).toMatchObject({ from: 0, model: 'openai/gpt-5', instructions: `Be brief ${CANARY}` });
      expect(first?.modelIn?.new).toHaveLength(first?.step ?? -1);
      expect(first?.spans?.map(({ kind }) => kind)).toContain('model');
    }
  });

  it('keeps so many old files, the newest', async () => {
    const all = await rotated(50);
    const few = await rotated(2);
    expect(few.parts).toHaveLength(3);
    expect(few.parts.map((part) => part[0]?.step)).toEqual(all.parts.slice(-3).map((part) => part[0]?.step));
    expect(statSync(few.path).mode & 0o777).toBe(0o600);
  });

  it('is read as one, the old files first', async () => {
    const { path } = await rotated(50);
    const steps: number[] = [];
    for await (const line of stepLines(path)) if (line.event === 'end') steps.push(line.step);
    expect(steps).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
  });

  it('is whole where the process died between two of the renames, and closes the gap the next time', async () => {
    const { path } = await rotated(50);
    const whole = logParts(path).flatMap(parse);
    const old = logParts(path).length - 1;
    // As it is once so many of the parts have been renamed.
    for (let renamed = 1; renamed <= old; renamed += 1) {
      const number = old - renamed + 1;
      renameSync(`${path}.${number}`, `${path}.${number + 1}`);
      expect(logParts(path).flatMap(parse)).toEqual(whole);
    }
    const log = jsonlLog(path, { content: 'full', maxBytes: 1, keep: 50 });
    step(recorder({ views: [log] }), 1, modelIn([]));
    await log.flush?.();
    const after = logParts(path);
    expect(after.flatMap(parse).slice(0, whole.length)).toEqual(whole);
    expect(after.at(-2)).toBe(`${path}.1`);
  });
});
