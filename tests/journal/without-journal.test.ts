import { defineAgent, type RunOptions, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { text } from '../support/turns.ts';

const HISTORY = [
  { role: 'user', content: 'A long story' },
  { role: 'assistant', content: 'Go on' },
  { role: 'user', content: 'The end' },
] as const;

afterEach(() => vi.restoreAllMocks());

describe('a run without a journal', () => {
  it.each<[string, Partial<RunOptions>]>([
    ['that nobody watches', {}],
    ['that a view watches', { views: [() => {}] }],
  ])('%s writes its input as JSON nowhere', async (_, options) => {
    const agent = defineAgent({
      name: 'listener',
      instructions: 'Listen.',
      model: scriptedModel({ listener: [text('Yes')] }),
    });
    const stringify = vi.spyOn(JSON, 'stringify');
    const { status } = await runAgent(agent, HISTORY, options);
    const written = stringify.mock.results.map(({ value }) => String(value));
    stringify.mockRestore();
    expect(status).toBe('completed');
    expect(written.filter((json) => json.includes('A long story'))).toEqual([]);
  });
});
