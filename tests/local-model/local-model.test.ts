/** Agents on a real server with a real, small model, through each protocol: it rambles, calls with odd arguments, stops anywhere. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { defineAgent, defineSupervisor, defineTool, type Model, type RunResult, runAgent } from 'coxswain';
import { anthropic } from 'coxswain/anthropic';
import { openai } from 'coxswain/openai';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import research from '../../examples/research-team/team.ts';
import { pairing } from '../support/turns.ts';
import { localServer } from './server.ts';
import { reportedBy, tap } from './tap.ts';

const found = await localServer();
const server = 'skipped' in found ? undefined : found;
if ('skipped' in found) process.stdout.write(`skipped: no local model: ${found.skipped}\n`);
afterAll(() => server?.stop());

const PROTOCOLS = ['chat', 'responses', 'messages'] as const;
const STATUSES = new Set([
  'completed',
  'step_limit',
  'tool_limit',
  'token_limit',
  'timeout',
  'context_limit',
  'loop_detected',
  'invalid_output',
  'model_error',
]);
const variants = PROTOCOLS.flatMap((protocol) => [true, false].map((stream) => ({ protocol, stream })));

function modelAt(url: string, protocol: (typeof PROTOCOLS)[number], stream: boolean): Model {
  const options = { stream, limits: { contextTokens: 4_000 }, retry: { retries: 1, baseMs: 50 } };
  const id = server?.model ?? '';
  if (protocol === 'messages') return anthropic(id, { ...options, baseURL: url });
  return openai(id, { ...options, baseURL: `${url}/v1`, api: protocol });
}

/** A request that the server will not have. What the model said and the server could not read is a 500. */
const isRefused = ({ status }: { status: number }) => status >= 400 && status < 500;

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city',
  input: z.object({ city: z.string() }),
  access: 'read',
  execute: ({ city }) => `${city}: 14 °C, light rain`,
});
const guide = defineAgent({ name: 'guide', instructions: 'Answer in one sentence.', tools: [weather] });
const poet = defineAgent({
  name: 'poet',
  description: 'Writes a line of verse',
  instructions: 'Write one line of verse.',
});
const critic = defineAgent({ name: 'critic', description: 'Names a cliché', instructions: 'Name one cliché.' });
const editor = defineSupervisor({ name: 'editor', instructions: 'Ask both in one turn.', workers: [poet, critic] });

// The model samples: what it says, and how long it goes on, is another each time.
describe.skipIf(server === undefined)('on a real server', { retry: 2 }, () => {
  describe.each(variants)('by $protocol, streamed: $stream,', ({ protocol, stream }) => {
    /** Runs through a tap; checks what holds for every run. */
    async function play(run: (model: Model) => Promise<RunResult>, maxTokens?: number): Promise<RunResult> {
      const wire = await tap(server?.url ?? '', maxTokens);
      try {
        const result = await run(modelAt(wire.url, protocol, stream));
        await wire.idle();
        expect(STATUSES).toContain(result.status);
        expect(pairing(result.messages)).toBe('ok');
        const refused = wire.exchanges.filter(isRefused);
        expect(refused.map(({ answer }) => answer)).toEqual([]);
        if (result.status === 'timeout') return result;
        const sums = wire.exchanges.map(reportedBy);
        expect({ input: result.usage.inputTokens, output: result.usage.outputTokens }).toEqual({
          input: sums.reduce((sum, { input }) => sum + input, 0),
          output: sums.reduce((sum, { output }) => sum + output, 0),
        });
        return result;
      } finally {
        await wire.close();
      }
    }
    /** A run that takes longer ends with the status `timeout`, which is as good as any. */
    const limits = { steps: 3, timeMs: 20_000 };

    test('an agent with a tool ends, and its transcript goes on in every protocol', { timeout: 120_000 }, async () => {
      const first = await play((model) =>
        runAgent(guide, 'The weather in Lisbon?', { model, limits: { ...limits, steps: 2 } }),
      );
      const next = [...first.messages, { role: 'user', content: 'And in Oslo?' } as const];
      for (const other of PROTOCOLS) {
        const wire = await tap(server?.url ?? '');
        await runAgent(guide, next, { model: modelAt(wire.url, other, stream), limits: { ...limits, steps: 1 } });
        await wire.close();
        await wire.idle();
        const refused = wire.exchanges.filter(isRefused);
        expect(refused.map(({ path, answer }) => `${path} ${answer}`)).toEqual([]);
      }
    });

    test('a supervisor with two workers ends', { timeout: 120_000 }, async () => {
      await play((model) => runAgent(editor, 'A line about the sea at night', { model, limits }));
    });

    test('the research team ends', { timeout: 180_000 }, async () => {
      const { agent, input, options } = research(['Who lights the lamp?']);
      await play((model) => runAgent(agent, input, { ...options, model, limits: { ...limits, timeMs: 12_000 } }));
    });

    test('a call that is required is made', { timeout: 240_000 }, async () => {
      const forced = defineAgent({
        name: 'forced',
        instructions: 'x',
        tools: [weather],
        settings: { toolChoice: 'required' },
      });
      let calls = 0;
      for (let run = 0; run < 3 && calls === 0; run++) {
        const forcedRun = (model: Model) =>
          runAgent(forced, 'The weather in Lisbon?', { model, limits: { steps: 1, timeMs: 60_000 } });
        // Room for the whole call.
        const result = await play(forcedRun, 128);
        calls += result.toolCalls;
      }
      expect(calls).toBeGreaterThan(0);
    });
  });

  test.each(['hello-agent', 'hello-supervisor'])('%s runs as it is', { timeout: 180_000 }, async (name) => {
    const wire = await tap(server?.url ?? '');
    const env = { ...process.env, LLM_MODEL: server?.model, LLM_BASE_URL: `${wire.url}/v1`, LLM_API_KEY: 'none' };
    const file = new URL(`../../examples/${name}.ts`, import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=@coxswain/source', file], { env });
    await wire.close();
    expect(stdout).not.toContain('(scripted)');
    expect(wire.exchanges.length).toBeGreaterThan(0);
  });
});
