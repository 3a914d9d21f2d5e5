import { execFileSync } from 'node:child_process';
import {
  ConfigurationError,
  defineAgent,
  defineTool,
  type ModelSettings,
  type RunRecord,
  runAgent,
  type Tool,
} from 'coxswain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Model, ModelRequest, ModelTurn } from '../../src/core/values/model.ts';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { bodyFailure, modelFailure, safeMessage } from '../../src/models/failure/failure.ts';
import { lazyModel } from '../../src/models/from-env.ts';
import { hasModelEnv, modelFromEnv } from '../../src/models/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { schemaSubset } from '../../src/models/request/schema-subset.ts';
import { legalName, toolNames } from '../../src/models/request/tool-name.ts';
import { loadSdk } from '../../src/models/sdk.ts';

describe('modelFromEnv', () => {
  const LLM = { LLM_MODEL: 'qwen3:8b', LLM_BASE_URL: 'http://localhost:11434/v1' };
  test.each<[Record<string, string>, object]>([
    [
      { ...LLM, ANTHROPIC_API_KEY: 'k' },
      { provider: 'openai', id: 'qwen3:8b', server: { address: 'localhost' } },
    ],
    [
      { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' },
      { provider: 'anthropic', id: 'claude-sonnet-5' },
    ],
    [
      { ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-x' },
      { provider: 'anthropic', id: 'claude-x' },
    ],
    [
      { ANTHROPIC_API_KEY: ' ', OPENAI_API_KEY: 'k', OPENAI_MODEL: 'gpt-x' },
      { provider: 'openai', id: 'gpt-x' },
    ],
  ])('%o', (env, expected) => {
    expect(modelFromEnv(env)).toMatchObject(expected);
    expect(hasModelEnv(env)).toBe(true);
  });
  test.each([{}, { LLM_MODEL: 'm' }, { LLM_BASE_URL: 'http://x' }])('names what is missing in %o', (env) => {
    expect(hasModelEnv(env)).toBe(false);
    expect(() => modelFromEnv(env)).toThrow(/LLM_MODEL and LLM_BASE_URL.*ANTHROPIC_API_KEY.*OPENAI_API_KEY/);
  });
  test.each<[Record<string, string>, Model]>([
    [LLM, openai('qwen3:8b', { baseURL: LLM.LLM_BASE_URL })],
    [{ OPENAI_API_KEY: 'k', OPENAI_MODEL: 'gpt-x' }, openai('gpt-x', { apiKey: 'k' })],
    [{ ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-x' }, anthropic('claude-x', { apiKey: 'k' })],
  ])('has every field of the adapter that it stands for: %o', (env, adapter) => {
    expect(modelFromEnv(env)).toEqual({ ...adapter, check: expect.any(Function), generate: expect.any(Function) });
  });
  test.each([LLM, { OPENAI_API_KEY: 'k' }, { ANTHROPIC_API_KEY: 'k' }])(
    'refuses before its first call what no request can hold, as the adapter does: %o',
    async (env) => {
      const tool = (name: string) =>
        defineTool({ name, description: 'x', access: 'read', input: { type: 'object' }, execute: () => 'x' });
      const many = Array.from({ length: 129 }, (_, index) => tool(`t${index}`));
      const records: string[] = [];
      const views = [({ kind }: RunRecord) => void records.push(kind)];
      const start = (of: { tools?: Tool[]; settings?: ModelSettings }) =>
        runAgent(defineAgent({ name: 'a', instructions: 'x', model: modelFromEnv(env), ...of }), 'go', { views });
      await expect(start({ settings: { model: 'other' } })).rejects.toMatchObject({ field: 'settings.model' });
      await expect(start({ settings: { toolChoice: 'maybe' } as never })).rejects.toThrow(ConfigurationError);
      if (!('ANTHROPIC_API_KEY' in env)) await expect(start({ tools: many })).rejects.toMatchObject({ field: 'tools' });
      expect(records).not.toContain('model');
      expect(records).toContain('agent');
    },
  );
  test('refuses a base URL that is none before anything is loaded', () => {
    expect(() => modelFromEnv({ ...LLM, LLM_BASE_URL: 'localhost:11434' })).toThrow(/baseURL: expected an http/);
  });
  test('loads neither adapter nor SDK', () => {
    // In a process of its own: this one has loaded them.
    const code = `
      import { registerHooks } from 'node:module';
      const late = /^(openai|@anthropic-ai)|\\/(openai|anthropic)\\.ts$/;
      registerHooks({ resolve: (name, context, next) => (late.test(name) ? process.exit(7) : next(name, context)) });
      const { modelFromEnv } = await import('./src/models/index.ts');
      modelFromEnv({ OPENAI_API_KEY: 'k' });
      console.log(modelFromEnv({ ANTHROPIC_API_KEY: 'k' }).provider);
    `;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(printed.trim()).toBe('anthropic');
  });
});

describe('lazyModel', () => {
  const fields = { provider: 'p', id: 'm' };
  const turn: ModelTurn = { content: [], stop: 'end' };
  const request: ModelRequest = { instructions: '', messages: [], tools: [], settings: {} };
  const context = { signal: new AbortController().signal };

  test('is loaded by the first call, and once', async () => {
    let loads = 0;
    const model = lazyModel(fields, async () => {
      loads += 1;
      return { ...fields, generate: async () => turn };
    });
    expect(loads).toBe(0);
    expect(await Promise.all([model.generate(request, context), model.generate(request, context)])).toEqual([
      turn,
      turn,
    ]);
    await model.generate(request, context);
    expect(loads).toBe(1);
  });
  test('hands on the context itself, whose members are read when they are needed', async () => {
    const seen: unknown[] = [];
    const generate: Model['generate'] = async (_, given) => {
      seen.push(given);
      return turn;
    };
    const model = lazyModel(fields, async () => ({ ...fields, generate }));
    await model.generate(request, context);
    await model.generate(request, context);
    expect(seen.map((given) => given === context)).toEqual([true, true]);
  });
  test('rejects where loading fails, and tries again at the next call', async () => {
    const results: Model[] = [{ ...fields, generate: async () => turn }];
    let failures = 1;
    const model = lazyModel(fields, async () => {
      const [loaded] = results;
      if (failures-- > 0 || loaded === undefined) throw new Error('no disk');
      return loaded;
    });
    await expect(model.generate(request, context)).rejects.toThrow('no disk');
    expect(await model.generate(request, context)).toBe(turn);
  });
});

describe('a missing SDK', () => {
  test('says what to install', async () => {
    const missing = loadSdk('no-such-sdk', () => import('no-such-sdk' as string));
    await expect(missing).rejects.toMatchObject({ name: 'ConfigurationError', mend: 'Run npm install no-such-sdk.' });
  });
  test('is not the same as one that fails to load', async () => {
    const error = Object.assign(new Error("Cannot find package 'zod'"), { code: 'ERR_MODULE_NOT_FOUND' });
    await expect(loadSdk('openai', () => Promise.reject(error))).rejects.toBe(error);
  });
});

describe('a name', () => {
  test('becomes legal and stays its own', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 20 }), (names) => {
        const legal = names.map((name) => legalName(name, 64));
        for (const name of legal) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(new Set(legal).size).toBe(names.length);
        expect(legal.map((name) => legalName(name, 64))).toEqual(legal);
      }),
    );
  });
  test('finds its way back, and two equal ones are refused', () => {
    const tool = (name: string) => ({ name, description: '', parameters: {} });
    expect(toolNames([tool('a b')], 64).get(legalName('a b', 64))).toBe('a b');
    expect(() => toolNames([tool('a'), tool('a')], 64)).toThrow(/tools/);
  });
});

describe('schemaSubset', () => {
  const closed = {
    type: 'object',
    properties: { a: { type: 'string', minLength: 1 } },
    required: ['a'],
    additionalProperties: false,
  };
  test('drops what only narrows', () => {
    expect(schemaSubset(closed, { allRequired: true })).toEqual({ ...closed, properties: { a: { type: 'string' } } });
  });
  test.each([
    [{ type: 'object', properties: { a: closed } }],
    [{ ...closed, additionalProperties: true }],
    [{ ...closed, properties: { a: { not: {} } } }],
    [{ ...closed, properties: { a: { type: 'array', items: { type: 'object' } } } }],
    [{ type: 'array' }],
  ])('gives nothing for %o', (schema) => {
    expect(schemaSubset(schema, { allRequired: false })).toBeUndefined();
  });
  test('wants every property where the provider does', () => {
    expect(schemaSubset({ ...closed, required: [] }, { allRequired: true })).toBeUndefined();
    expect(schemaSubset({ ...closed, required: [] }, { allRequired: false })).toBeDefined();
  });
});

describe('a failure', () => {
  test.each<[unknown, object]>([
    [
      {
        error: {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          message: 'You exceeded your current quota',
          details: [{ retryDelay: '37s' }],
        },
      },
      { kind: 'rate_limit', retryAfterMs: 37_000 },
    ],
    [{ error: { code: 'insufficient_quota' } }, { kind: 'quota', retryable: false }],
    [{ error: 'Overloaded' }, { kind: 'overloaded', retryable: true }],
    [{ type: 'exceed_context_size_error', message: 'x' }, { kind: 'context_length' }],
    [{ error: { code: 'tool_use_failed', message: 'x' } }, { kind: 'malformed_response', retryable: true }],
    ['something broke', { kind: 'server_error', retryable: true }],
    [null, { kind: 'server_error' }],
  ])('in a stream: %o', (body, expected) => {
    expect(bodyFailure(body, 'p')).toMatchObject(expected);
  });
  test('of the transport is found down its causes', () => {
    const reset = new TypeError('terminated', {
      cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    });
    expect(modelFailure(reset, 'p')).toMatchObject({ kind: 'network', retryable: true });
    const certificate = new TypeError('fetch failed', {
      cause: Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }),
    });
    expect(modelFailure(certificate, 'p')).toMatchObject({ kind: 'network', retryable: false });
    expect(modelFailure(new Error('odd'), 'p')).toMatchObject({ kind: 'unknown', retryable: false });
    expect(modelFailure(undefined, 'p')).toMatchObject({ kind: 'unknown' });
  });
  test("shows a provider's words short and without keys", () => {
    expect(safeMessage('a\n  b')).toBe('a b');
    expect(safeMessage('x'.repeat(400))).toHaveLength(301);
    expect(safeMessage('bad key sk-abc123DEF and Bearer abc.def and my-secret', ['my-secret'])).toBe(
      'bad key [redacted] and [redacted] and [redacted]',
    );
  });
});
