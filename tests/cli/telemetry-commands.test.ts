import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, delegate, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { treeFaults } from '../telemetry/collecting.ts';
import { attributesOf, receiver, spansIn, type WireSpan } from '../telemetry/receiver.ts';
import { type Cox, cox, emptyFolder, fixture, startCox } from './cox.ts';

const HARBOUR = fixture('harbour.ts');
const NAMED = ['--journal', 'runs.db'];
const idOf = (err: string) => /^run ([\w-]+)[,;]/m.exec(err)?.[1] ?? '';

async function collector() {
  const one = await receiver();
  onTestFinished(one.close);
  return one;
}

/** A run whose process was killed while a tool was under way. */
async function killedRun(cwd: string, env: Record<string, string> = {}): Promise<string> {
  const run = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { PILOT_WAITS: '1', ...env } });
  await waits(run, cwd);
  run.child.kill('SIGKILL');
  return idOf((await run.ended).err);
}

/** Resolves once the run waits, and what it did until then is on disk. */
async function waits(run: Cox, cwd: string): Promise<string> {
  await run.says('waiting for the pilot');
  const store = sqlite(join(cwd, 'runs.db'));
  const [first] = await vi.waitFor(async () => {
    const runs = await store.list();
    expect(runs[0]?.records).toBeGreaterThan(20);
    const log = readFileSync(join(cwd, `.runs/${runs[0]?.id}.jsonl`), 'utf8');
    expect(log.split('\n').length).toBeGreaterThan(7);
    return runs;
  });
  store.close();
  return first?.id ?? '';
}

const shared = mkdtempSync(join(tmpdir(), 'cox-killed-'));
afterAll(() => rmSync(shared, { recursive: true, force: true }));
let made: Promise<string> | undefined;

/** One for those who only look. */
async function killed(): Promise<{ cwd: string; runId: string }> {
  made ??= killedRun(shared);
  return { cwd: shared, runId: await made };
}

const KILLED = [
  ['chat scripted', 0],
  ['chat scripted', 0],
  ['chat scripted', 0],
  ['chat scripted', 0],
  ['execute_tool delegate_mate', 0],
  ['execute_tool pilot', 2],
  ['execute_tool sound', 0],
  ['invoke_agent captain', 2],
  ['invoke_agent mate', 0],
  ['invoke_workflow captain', 2],
];
const ends = (spans: readonly WireSpan[]) => spans.map(({ name, status }) => [name, status.code ?? 0]).sort();

describe('cox trace export', () => {
  test('exports a run with a detached worker, each span below one that is there', async () => {
    const cwd = emptyFolder();
    const worker = defineAgent({ name: 'w', description: 'w', instructions: 'w' });
    const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [delegate(worker, { detached: true })] });
    const model = scriptedModel({ lead: [callTools(toolCall('delegate_w', { task: 't' })), 'end'], w: ['done'] });
    const journal = sqlite(join(cwd, 'runs.db'));
    onTestFinished(() => journal.close());
    await runAgent(lead, 'Go', { runId: 'r', journal, model });
    const { code, out } = await cox(['trace', 'export', 'r', ...NAMED, '--out', '-'], { cwd });
    expect(code).toBe(0);
    const spans = out
      .trim()
      .split('\n')
      .flatMap((line) => spansIn(JSON.parse(line)));
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(ids.size).toBe(spans.length);
    expect(spans.length).toBeGreaterThanOrEqual(3);
    for (const { parentSpanId = '' } of spans) expect(parentSpanId === '' || ids.has(parentSpanId)).toBe(true);
  });

  test('gives a killed run’s whole tree, and what was sent live is the very same span', async () => {
    const cwd = emptyFolder();
    const { endpoint, spans, bodies } = await collector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: 'harbour', OTEL_BSP_SCHEDULE_DELAY: '1' };
    const run = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { PILOT_WAITS: '1', ...env } });
    await waits(run, cwd);
    await expect.poll(() => spans().length, { timeout: 10_000 }).toBe(7);
    run.child.kill('SIGKILL');
    const runId = idOf((await run.ended).err);
    const live = spans();
    bodies.length = 0;
    const { code, err } = await cox(['trace', 'export', runId, ...NAMED], { cwd, env });
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('10 spans in trace ') });
    expect(treeFaults(spans())).toEqual([]);
    expect(ends(spans())).toEqual(KILLED);
    const again = new Map(spans().map((span) => [span.spanId, sorted(span)]));
    for (const span of live) expect(again.get(span.spanId)).toEqual(sorted(span));
    const root = spans().find(({ parentSpanId }) => parentSpanId === undefined);
    expect(attributesOf(root as WireSpan)).toMatchObject({ 'coxswain.run.state': 'died', 'error.type': 'died' });
    expect(bodies[0]).toContain('{"key":"service.name","value":{"stringValue":"harbour"}}');
  });

  test('needs no live spans, also of a run that went on: a linked trace for each time', async () => {
    const cwd = emptyFolder();
    const runId = await killedRun(cwd);
    await cox(['resume', HARBOUR, runId, ...NAMED], { cwd });
    const { endpoint, spans } = await collector();
    const { out } = await cox(['trace', 'export', runId, ...NAMED, '--endpoint', endpoint, '--json'], { cwd });
    const [died = '', parked = ''] = JSON.parse(out).traces as string[];
    const of = (trace: string) => spans().filter(({ traceId }) => traceId === trace);
    expect(treeFaults(of(died))).toEqual([]);
    expect(treeFaults(of(parked))).toEqual([]);
    expect(ends(of(died))).toEqual(KILLED);
    expect(ends(of(parked))).toEqual([
      ['chat scripted', 0],
      ['execute_tool pilot', 0],
      ['invoke_agent captain', 0],
      ['invoke_workflow captain', 0],
    ]);
    const [root] = of(parked).filter(({ parentSpanId }) => parentSpanId === undefined);
    const [before] = of(died).filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(root?.links).toMatchObject([{ traceId: died, spanId: before?.spanId }]);
    expect(attributesOf(root as WireSpan)).toMatchObject({
      'coxswain.run.id': runId,
      'coxswain.run.attempt': 2,
      'coxswain.run.resumed': true,
      'coxswain.run.state': 'suspended',
      'coxswain.link.type': 'resume',
      'coxswain.link.trace_id': died,
    });
  });

  test('reads a step log of any content as well, and writes a file', async () => {
    const { cwd, runId } = await killed();
    const journal = await cox(['trace', 'export', runId, ...NAMED, '--out', 'journal.json'], { cwd });
    const log = await cox(['trace', 'export', `.runs/${runId}.jsonl`, '--out', 'log.json'], { cwd });
    expect([journal.code, log.code]).toEqual([0, 0]);
    const read = (file: string) => spansIn(JSON.parse(readFileSync(join(cwd, file), 'utf8')));
    expect(treeFaults(read('log.json'))).toEqual([]);
    // The tool that was under way began after the log's last line.
    const known = read('journal.json').filter(({ name }) => name !== 'execute_tool pilot');
    expect(ids(read('log.json'))).toEqual(ids(known));
    expect(statSync(join(cwd, 'log.json')).mode & 0o777).toBe(0o600);
  });

  test('says nothing that was said, unless asked to', async () => {
    const { cwd, runId } = await killed();
    for (const source of [[runId, ...NAMED], [`.runs/${runId}.jsonl`]]) {
      const none = await cox(['trace', 'export', ...source, '--out', '-'], { cwd });
      const full = await cox(['trace', 'export', ...source, '--out', '-', '--content'], { cwd });
      for (const said of ['wiped', 'Deep enough']) {
        expect(none.out).not.toContain(said);
        expect(full.out).toContain(said);
      }
    }
  });

  test('leaves what is under way to a process that is alive', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { PILOT_WAITS: '1' } });
    const runId = await waits(run, cwd);
    const { err } = await cox(['trace', 'export', runId, ...NAMED, '--out', '-'], { cwd });
    expect(err).toContain('7 spans in trace');
    expect(err).toContain('its process is alive and will send its open spans itself');
    run.child.kill('SIGKILL');
  });

  test('says what is wrong: an unknown run, a file that is no log, a collector that is away', async () => {
    const { cwd, runId } = await killed();
    writeFileSync(join(cwd, 'notes.txt'), 'no log\n{"a":1}\n');
    const [unknown, noLog, away, both] = await Promise.all([
      cox(['trace', 'export', 'nobody', ...NAMED], { cwd }),
      cox(['trace', 'export', 'notes.txt'], { cwd }),
      cox(['trace', 'export', runId, ...NAMED, '--endpoint', 'http://127.0.0.1:9'], { cwd }),
      cox(['trace', 'export', runId, ...NAMED, '--endpoint', 'nowhere'], { cwd }),
    ]);
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('there is no run "nobody"') });
    expect(noLog).toMatchObject({ code: 2, err: expect.stringContaining('notes.txt holds no spans') });
    expect(away).toMatchObject({ code: 1, err: expect.stringContaining('the spans could not be sent: ') });
    expect(both).toMatchObject({ code: 2, err: expect.stringContaining('--endpoint: it is no URL') });
  });
});

/** As Jaeger compares spans: in whatever order attributes stand. */
function sorted(span: WireSpan): WireSpan {
  return { ...span, attributes: span.attributes.toSorted((a, b) => a.key.localeCompare(b.key)) };
}

function ids(spans: readonly WireSpan[]) {
  return spans.map(({ name, spanId, parentSpanId }) => [name, spanId, parentSpanId].join()).sort();
}

describe('cox log', () => {
  test('shows the lines of a run, of a file, or of the newest run, as they are or for a person', async () => {
    const cwd = emptyFolder();
    const { err } = await cox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd });
    const runId = idOf(err);
    const [run, file, newest, raw] = await Promise.all([
      cox(['log', runId], { cwd }),
      cox(['log', `.runs/${runId}.jsonl`, '--last', '1'], { cwd }),
      cox(['log'], { cwd }),
      cox(['log', runId, '--json'], { cwd }),
    ]);
    expect(run.out.split('\n')[0]).toMatch(
      /^[\d:.]{12} captain {2}step 1 asks scripted\/scripted \(1 messages, 1 new\)$/,
    );
    expect(run.out).toMatch(/captain\/1\.0\/mate {2}step 2 completed \([\d.]+ m?s, 15 tokens\) “Deep enough.”/);
    expect(run.out).not.toMatch(/[^\P{Cc}\n]/u);
    expect(newest.out).toBe(run.out);
    expect(file.out.trimEnd()).toBe(run.out.trimEnd().split('\n').at(-1));
    expect(raw.out).toBe(readFileSync(join(cwd, `.runs/${runId}.jsonl`), 'utf8'));
  });

  test('follows a run as its lines are written, and ends with it', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { PILOT_WAITS: '1' } });
    const runId = await waits(run, cwd);
    const tail = startCox(['log', '-f', runId], { cwd });
    const lines = heard(tail);
    await expect.poll(() => lines().length, { timeout: 10_000 }).toBe(7);
    run.child.kill('SIGINT');
    await run.ended;
    expect((await tail.ended).code).toBe(0);
    expect(lines().at(-1)).toMatch(/captain {2}step 2 aborted/);
  });

  test('follows a file through its rotation until Ctrl-C, without losing or repeating a line', async () => {
    const cwd = emptyFolder();
    const file = join(cwd, 'run.jsonl');
    const line = (number: number) =>
      `${JSON.stringify({ runId: 'r', path: 'lead', agent: 'lead', step: number, event: 'start', time: '2030-01-01T00:00:00.000Z' })}\n`;
    writeFileSync(file, line(1));
    const tail = startCox(['log', '-f', file, '--json'], { cwd });
    const lines = heard(tail);
    const steps = () => lines().map((text) => JSON.parse(text).step);
    await expect.poll(steps, { timeout: 10_000 }).toEqual([1]);
    appendFileSync(file, line(2).slice(0, 20));
    appendFileSync(file, line(2).slice(20) + line(3));
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(4));
    await expect.poll(steps, { timeout: 10_000 }).toEqual([1, 2, 3, 4]);
    appendFileSync(file, line(5));
    await expect.poll(steps, { timeout: 10_000 }).toEqual([1, 2, 3, 4, 5]);
    tail.child.kill('SIGINT');
    expect((await tail.ended).code).toBe(130);
  });

  test('names what is missing', async () => {
    const { code, err } = await cox(['log', 'nobody']);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('there is no log nobody') });
    expect((await cox(['log'])).err).toContain('there is no log in .runs/');
  });
});

function heard({ child }: Cox): () => string[] {
  let text = '';
  child.stdout?.on('data', (more: string) => {
    text += more;
  });
  return () => text.split('\n').slice(0, -1);
}

describe('cox bundle', () => {
  test('writes one file with log, steps, configuration and versions, and nothing that was said', async () => {
    const cwd = emptyFolder();
    const env = { LLM_API_KEY: 'sk-proj-abcdefghijklmnop1234' };
    const { err } = await cox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env });
    const runId = idOf(err);
    const { code } = await cox(['bundle', runId, ...NAMED], { cwd, env });
    expect(code).toBe(0);
    const text = readFileSync(join(cwd, `cox-bundle-${runId}.json`), 'utf8');
    expect(JSON.parse(text)).toMatchObject({
      run: runId,
      content: 'none',
      versions: { coxswain: '0.1.0', node: process.versions.node, platform: process.platform },
      environment: ['LLM_API_KEY', ...Object.keys(compiled)],
      journal: {
        ...{ agent: 'captain', state: 'suspended', epoch: 1, pending: 1, usage: { inputTokens: 50 } },
        limits: { run: { depth: 4 } },
        agents: [{ agent: 'captain', model: 'scripted/scripted' }, { agent: 'mate' }],
        steps: expect.arrayContaining([expect.objectContaining({ key: 'captain/1.0/mate/1.0', status: 'done' })]),
      },
      log: expect.arrayContaining([expect.objectContaining({ path: 'captain/1.0/mate', step: 2, event: 'end' })]),
    });
    for (const said of ['wiped', 'Deep enough', 'Bring her in', 'sk-proj', 'Sound.']) expect(text).not.toContain(said);
    const full = await cox(['bundle', runId, ...NAMED, '--content', '--out', '-'], { cwd, env });
    for (const said of ['wiped', 'Deep enough', 'Bring her in']) expect(full.out).toContain(said);
    expect(full.out).not.toContain('sk-proj');
  });

  test('takes a log alone, a damaged journal, and says when it knows nothing of the run', async () => {
    const cwd = emptyFolder();
    const { err } = await cox(['run', HARBOUR, 'bring her in', '--log', 'run.jsonl'], { cwd });
    expect(err).not.toContain('run.db');
    const runId = JSON.parse(readFileSync(join(cwd, 'run.jsonl'), 'utf8').split('\n')[0] ?? '').runId;
    const alone = await cox(['bundle', runId, '--log', 'run.jsonl', '--out', '-'], { cwd });
    expect(JSON.parse(alone.out)).not.toHaveProperty('journal');
    expect(JSON.parse(alone.out).log.length).toBeGreaterThan(4);
    const nobody = await cox(['bundle', 'nobody'], { cwd });
    expect(nobody).toMatchObject({ code: 2, err: expect.stringContaining('neither a journal nor a log knows nobody') });
    expect(existsSync(join(cwd, 'cox-bundle-nobody.json'))).toBe(false);
  });
});
