import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, defineTool, fallback, ModelError, runAgent, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { callTools, recordedModel, recordModel, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

function file(name = 'run.jsonl'): string {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, name);
}

const usage = { inputTokens: 10, outputTokens: 5 };
const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: { type: 'object' },
  access: 'read',
  execute: () => 'seen',
});
const worker = defineAgent({ name: 'worker', description: 'w', instructions: 'x', tools: [look] });
const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [worker] });
const price = { inputPerMTok: 1, outputPerMTok: 2 };
const script = () =>
  scriptedModel(
    {
      lead: [
        { ...callTools(toolCall('delegate_worker', { task: 'a' }), toolCall('delegate_worker', { task: 'b' })), usage },
        say('all done', usage),
      ],
      // Who is asked is a matter of what it was told: answers must find their questions.
      worker: Array.from({ length: 4 }, () => (request) => {
        const [brief] = request.messages;
        const task = typeof brief?.content === 'string' ? brief.content : '';
        return request.messages.length === 1
          ? { ...callTools(toolCall('look', { task })), usage, native: { task } }
          : say(`${task} is done`, usage);
      }),
    },
    { provider: 'openai', id: 'some-model', price },
  );
const facts = ({ runId: _, traceId: __, ...rest }: Awaited<ReturnType<typeof runAgent>>) => rest;

describe('a recorded model', () => {
  it('plays a step log back: the same run without the model, whatever the order of its workers', async () => {
    const log = file();
    const first = await runAgent(lead, 'go', { model: script(), views: [jsonlLog(log, { content: 'full' })] });
    const again = await runAgent(lead, 'go', { model: recordedModel(log, { strict: true }) });
    expect(first.status).toBe('completed');
    expect(first.costUsd).toBeGreaterThan(0);
    expect(facts(again)).toEqual(facts(first));
  });

  it.each(['recordModel', 'jsonlLog'])('gives equal requests their answers in the order of asking: %s', async (how) => {
    const log = file();
    const boss = defineSupervisor({
      name: 'boss',
      instructions: 'x',
      workers: [defineAgent({ name: 'clerk', description: 'c', instructions: 'x' })],
    });
    const isOver = Promise.withResolvers<void>();
    let asked = 0;
    const model = scriptedModel(async ({ messages }, { agent }) => {
      const results = messages.flatMap((one) => (one.role === 'tool' ? [one.content] : []));
      const call = () => toolCall('delegate_clerk', { task: 'a line' });
      if (agent === 'boss') return results.length === 0 ? callTools(call(), call()) : say(results.join(' / '));
      asked += 1;
      const number = asked;
      if (number === 1) await isOver.promise;
      return say(`draft ${number}`);
    });
    const options =
      how === 'jsonlLog' ? { model, views: [jsonlLog(log, { content: 'full' })] } : { model: recordModel(model, log) };
    const run = startRun(boss, 'go', options);
    // The first that was asked answers once the second's worker has ended.
    run.on('agent.end', () => isOver.resolve());
    const first = await run.result;
    expect(first.text).toBe('draft 1 / draft 2');
    const again = await runAgent(boss, 'go', { model: recordedModel(log, { strict: true }) });
    expect(again.text).toBe(first.text);
  });

  it('plays a recording of recordModel back, which only its owner can read', async () => {
    const log = file();
    const first = await runAgent(lead, 'go', { model: recordModel(script(), log) });
    expect(statSync(log).mode & 0o777).toBe(0o600);
    const again = await runAgent(lead, 'go', { model: recordedModel(log, { strict: true }) });
    expect(again.messages.map(({ content }) => content)).toEqual(first.messages.map(({ content }) => content));
    expect(again.usage).toEqual(first.usage);
    // A second recording begins the file anew.
    await runAgent(worker, 'c', { model: recordModel(script(), log) });
    expect(readFileSync(log, 'utf8').trim().split('\n')).toHaveLength(2);
  });

  it('plays what a retry and a fallback were answered in the end, and what failed for good as failed', async () => {
    const log = file();
    const flaky = scriptedModel([new ModelError('network', 'cut'), new ModelError('auth', 'no')], {
      retry: { retries: 1, baseMs: 1 },
    });
    const model = recordModel(fallback([flaky, scriptedModel(['answered'])]), log);
    expect((await runAgent(worker, 'go', { model })).text).toBe('answered');
    expect((await runAgent(worker, 'go', { model: recordedModel(log) })).text).toBe('answered');
    const failing = recordModel(scriptedModel([new ModelError('quota', 'no money')]), log);
    await runAgent(worker, 'go', { model: failing });
    expect(await runAgent(worker, 'go', { model: recordedModel(log) })).toMatchObject({
      status: 'model_error',
      error: { kind: 'quota', message: 'no money' },
    });
  });

  it('takes the agent’s next turn for a changed request, unless it is strict', async () => {
    const log = file();
    await runAgent(worker, 'one', { model: recordModel(script(), log) });
    expect((await runAgent(worker, 'two', { model: recordedModel(log) })).text).toBe('one is done');
    expect(await runAgent(worker, 'two', { model: recordedModel(log, { strict: true }) })).toMatchObject({
      status: 'model_error',
      error: {
        message:
          'recordedModel: no turn was recorded for this request of agent "worker" with 1 messages; record it anew',
      },
    });
  });

  it('is over when it is over', async () => {
    const log = file();
    await runAgent(worker, 'go', { model: recordModel(scriptedModel(['x']), log) });
    const model = recordedModel(log);
    await runAgent(worker, 'go', { model });
    expect(await runAgent(worker, 'go', { model })).toMatchObject({
      error: { message: 'recordedModel: the recording is over for agent "worker"' },
    });
  });

  it('refuses files that hold no turns, with what to do', async () => {
    const log = file();
    expect(() => recordedModel(log)).toThrow(/cannot be read.*recordModel/);
    writeFileSync(log, 'hello');
    expect(() => recordedModel(log)).toThrow(/is no recording/);
    await runAgent(worker, 'go', { model: script(), views: [jsonlLog(log)] });
    expect(() => recordedModel(log)).toThrow(/holds no turns.*content: 'full'/);
  });
});
