import { defineAgent, defineSupervisor, defineTool, delegate, runAgent, startRun } from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { results, text, turn } from '../support/turns.ts';

const notes = longTermMemory({ file: ':memory:' });
afterAll(() => notes.close());
const memory = [{ store: notes, namespace: 'team', write: true }];
const failed = (field: string) => expect.objectContaining({ name: 'ConfigurationError', field });

describe('a rule may name a tool that follows from a grant or from shared values', () => {
  const script = () => scriptedModel([turn(['memory_save', { text: 'a fact' }]), text('done')]);

  it('in the options of a run and in a definition', async () => {
    const rules = ['deny memory_save'];
    const agent = defineAgent({ name: 'solo', instructions: 'Note.', memory });
    const byRun = await runAgent(agent, 'go', { model: script(), permissions: { rules } });
    expect(results(byRun.messages)).toEqual([{ isError: true, text: expect.stringContaining('deny memory_save') }]);
    const own = defineAgent({ name: 'solo', instructions: 'Note.', memory, permissions: { rules } });
    const byAgent = await runAgent(own, 'go', { model: script() });
    expect(results(byAgent.messages)).toEqual([{ isError: true, text: expect.stringContaining('deny memory_save') }]);
  });

  it('also where only a delegate shares', () => {
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.' });
    const shared = delegate(worker, { shared: () => ({ style: 'short' }) });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [shared] });
    const options = { model: scriptedModel([text('x')]), permissions: { rules: ['deny shared_read'] } };
    expect(() => startRun(lead, 'go', options)).not.toThrow();
  });
});

describe('what cannot hold fails before the first call', () => {
  const model = scriptedModel([text('x')]);

  it('a delegate’s rule that names no tool, or is none', () => {
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.' });
    for (const rule of ['deny nothing_here', 'bogus']) {
      const workers = [delegate(worker, { permissions: { rules: [rule] } })];
      const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers });
      expect(() => startRun(lead, 'go', { model })).toThrow(failed('delegate worker.permissions.rules[0]'));
    }
  });

  it('an output that no model can be shown, also where a function gives the tools', () => {
    const output = z.object({ at: z.date() });
    const agent = defineAgent({ name: 'solo', instructions: 'Answer.', tools: () => [], output });
    expect(() => startRun(agent, 'go', { model })).toThrow(failed('agent solo.output'));
  });

  it('a tool whose name a memory grant gives', async () => {
    const own = (name: string, aliases: string[] = []) =>
      defineTool({ name, aliases, description: 'Own', input: {}, access: 'read', execute: () => 'x' });
    for (const tool of [own('memory_save'), own('recall', ['memory_search'])])
      expect(() => defineAgent({ name: 'solo', instructions: 'Note.', memory, tools: [tool] })).toThrow(
        failed('agent solo.tools'),
      );
    const agent = defineAgent({ name: 'solo', instructions: 'Note.', memory, tools: () => [own('memory_save')] });
    await expect(runAgent(agent, 'go', { model })).rejects.toThrow('duplicate name memory_save');
  });
});
