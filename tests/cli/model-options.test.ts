import { defineAgent, defineSupervisor } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { modelOptions } from '../../src/cli/model-options.ts';

describe('chooseModel', () => {
  const env = { LLM_MODEL: 'm', LLM_BASE_URL: 'http://127.0.0.1:1/v1' };
  const own = scriptedModel([]);
  const bare = defineAgent({ name: 'bare', description: 'Has none', instructions: 'x' });
  const owner = defineAgent({ name: 'owner', description: 'Has one', instructions: 'x', model: own });

  test('gives all the environment’s where none has its own', () => {
    expect(modelOptions(bare, {}, env).model).toMatchObject({ id: 'm' });
  });

  test('leaves agents their own, and asks the environment only when it must', () => {
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [bare, owner], model: own });
    expect(Object.keys(modelOptions(lead, {}, env).models ?? {})).toEqual(['bare']);
    expect(modelOptions(owner, {}, {})).toEqual({});
    expect(modelOptions(bare, { model: own }, {})).toEqual({});
    expect(modelOptions(bare, { models: { bare: own } }, {})).toEqual({});
    expect(() => modelOptions(bare, {}, {})).toThrow('LLM_MODEL and LLM_BASE_URL');
  });
});
