import { type Compact, defineAgent, defineTool, type ModelRequest } from 'coxswain';
import { callTools, type ScriptedTurn, say, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';

/** Prose of about so many tokens. */
export function prose(tokens: number, word = 'aaaa'): string {
  return `${word} `.repeat(Math.floor(tokens / 0.92));
}

/** Whether a request asks for a summary. */
export function asksForSummary({ messages }: ModelRequest): boolean {
  const last = messages.at(-1);
  return last?.role === 'user' && last.from === 'coxswain' && textOf(last.content).includes('write the summary');
}

/** What was read of the pages: everything that stands in a request but in no summary. */
export function pagesIn({ messages }: ModelRequest): number[] {
  return messages.flatMap((message) => {
    const page = message.role === 'tool' ? /^page (\d+)/.exec(textOf(message.content))?.[1] : undefined;
    return page === undefined ? [] : [Number(page)];
  });
}

interface Reading {
  readonly compact: Compact | undefined;
  readonly maxTokens?: number;
  readonly pages?: number;
  /** Tokens of a page. */
  readonly size?: number;
  readonly summary?: (request: ModelRequest) => ScriptedTurn;
  readonly steps?: number;
}

/** An agent that reads page after page and then says that it is done, and the model that does so; no usage is reported, so the ruler's own figures hold. */
export function reading({ compact, maxTokens = 4_000, pages = 12, size = 400, summary, steps = 40 }: Reading) {
  const page = defineTool({
    name: 'page',
    description: 'Reads a page',
    input: z.object({ number: z.number() }),
    access: 'read',
    maxResultChars: 10_000_000,
    execute: ({ number }) => `page ${number} ${prose(size)}`,
  });
  const agent = defineAgent({
    name: 'reader',
    instructions: 'Read all pages.',
    tools: [page],
    settings: { maxOutputTokens: 100 },
    context: { maxTokens, compact },
    limits: { steps },
  });
  // What it says follows from the request alone, so that a resume hears the same.
  const model = scriptedModel((request): ScriptedTurn => {
    const last = pagesIn(request).at(-1) ?? 0;
    if (asksForSummary(request)) return summary?.(request) ?? say(`Read up to page ${last}.`);
    const read = last + 1;
    return read <= pages ? callTools(toolCall('page', { number: read }, `p${read}`)) : say('Done.');
  });
  return { agent, model, page };
}
