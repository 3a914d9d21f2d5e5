import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { type Compactor, defineAgent, defineSupervisor, type Model, type ModelTurn } from 'coxswain';
import { workingSummaries } from 'coxswain/memory';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { asksForSummary, reading } from '../support/reading.ts';

/** What was called outside, in order: a hook, a compactor or a summary by its address, with how often. */
export function doneOutside(outside: string): string[] {
  return existsSync(outside) ? readFileSync(outside, 'utf8').trim().split('\n') : [];
}

/**
 * A lead with two readers whose windows are too small: one sums up, with hooks and a saved conversation, one has a compactor.
 * Every answer follows from the request alone. Hooks and compactor append to a file outside, so that each is seen to run once.
 */
export function logbook(outside: string, conversations: string) {
  const note = (what: string) => appendFileSync(outside, `${what}\n`);
  const summaries = workingSummaries({ file: conversations });
  const { page } = reading({ compact: 'drop', size: 300 });
  const short: Compactor = (messages, { path, step }) => {
    note(`compact ${path}/${step}`);
    return [{ role: 'user', content: `${messages.length} messages were condensed` }];
  };
  const facts = {
    description: 'Reads',
    instructions: 'Read all pages.',
    tools: [page],
    limits: { steps: 30 },
  } as const;
  const settings = { maxOutputTokens: 100 };
  const summing = defineAgent({
    ...{ ...facts, name: 'summing', settings },
    context: { maxTokens: 3_000, compact: 'summarize', conversation: { store: summaries, id: 'log' } },
    hooks: {
      beforeTool: ({ args }, { key }) => {
        note(`beforeTool ${key}`);
        return { args };
      },
      onEnd: (_ending, { key }) => {
        note(`onEnd ${key}`);
      },
    },
  });
  const condensing = defineAgent({
    ...{ ...facts, name: 'condensing', settings },
    context: { maxTokens: 3_000, compact: short },
  });
  const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [summing, condensing] });
  return { lead, model: model(note), summaries };
}

function model(note: (what: string) => void): Model {
  const read = reading({ compact: 'drop', pages: 11 }).model;
  return scriptedModel((request, context): ModelTurn | Promise<ModelTurn> => {
    if (context.agent !== 'lead') {
      if (asksForSummary(request)) note(`summary of ${request.messages.length}`);
      return read.generate(request, context);
    }
    const isOver = request.messages.some(({ role }) => role === 'tool');
    if (isOver) return say('Read.');
    const calls = ['summing', 'condensing'].map((name) => toolCall(`delegate_${name}`, { task: 'Read' }, name));
    return callTools(...calls);
  });
}
