import { defineAgent } from 'coxswain';
import { z } from 'zod';

/** One way to call a worker from another system, beside that system's own tool. Each file of `bench/interop` exports one as `integration`. */
export interface Integration {
  readonly name: string;
  /** In one process the overhead is bounded in milliseconds, over loopback HTTP by a ratio. */
  readonly goal: { readonly overheadMs: number } | { readonly ratio: number };
  /** Calls of one task: through the integration, and through the system's own tool, written by hand. Each returns the tool's output. */
  prepare(): Promise<{
    readonly ours: () => Promise<unknown>;
    readonly own: () => Promise<unknown>;
    readonly close?: () => void | Promise<void>;
  }>;
}

export const QUESTION = { question: 'How deep is the bar?' };
export const ANSWER = 'There are 4.2 m at the bar.';

const generate = async () => ({
  content: [{ type: 'text' as const, text: ANSWER }],
  stop: 'end' as const,
  usage: { inputTokens: 10, outputTokens: 5 },
});

/** Answers at once, so that the time of a call is that of the integration and the run. */
export const model = { provider: 'bench', id: 'at-once', generate };

export const worker = defineAgent({
  name: 'sounder',
  description: 'Says how deep it is',
  instructions: 'Answer in one sentence.',
  input: z.object({ question: z.string() }),
});
