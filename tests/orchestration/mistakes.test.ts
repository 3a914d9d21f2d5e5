import { ConfigurationError, defineAgent, runAgent, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { otel, setupOtel } from 'coxswain/otel';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';

const agent = defineAgent({ name: 'solo', instructions: 'You answer.' });

describe('a mistake of the caller', () => {
  it('in a cancelled path is refused, since it would stop nothing', async () => {
    const run = startRun(agent, 'go', { model: scriptedModel(['done']) });
    await expect(run.cancel('user pressed stop')).rejects.toThrow(/is not in this run/);
    expect((await run.result).status).toBe('completed');
  });

  it('in the options of a view is refused by name', async () => {
    expect(() => jsonlLog('run.jsonl', { contents: 'full' } as never)).toThrow(/jsonlLog\.contents/);
    expect(() => jsonlLog('run.jsonl', { content: true } as never)).toThrow(/jsonlLog\.content/);
    expect(() => jsonlLog(undefined as never)).toThrow(ConfigurationError);
    expect(() => otel({ contents: 'full' } as never)).toThrow(/otel\.contents/);
    await expect(setupOtel({ service: 'x' } as never)).rejects.toThrow(/setupOtel\.service/);
  });

  it('in a schema is refused: a shape is no JSON Schema', () => {
    const shape = { ok: 'boolean' };
    expect(() => defineAgent({ name: 'judge', instructions: 'You judge.', output: shape })).toThrow(
      /no keyword of JSON Schema/,
    );
  });

  it('that keeps a model from working at all rejects, and is no model error', async () => {
    const generate = () =>
      Promise.reject(new ConfigurationError('openai', 'the SDK is missing', 'Run: npm install openai'));
    const model = { provider: 'openai', id: 'any', generate };
    await expect(runAgent(agent, 'go', { model })).rejects.toThrow(/npm install openai/);
  });

  it('in a view is told, where nobody else is told of it', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const views = [
      () => {
        throw new Error('the view broke');
      },
    ];
    expect((await runAgent(agent, 'go', { model: scriptedModel(['done']), views })).status).toBe('completed');
    expect((await warned).message).toContain('the view broke');
  });
});
