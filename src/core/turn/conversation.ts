import type { SummaryStore, WorkingSummary } from '../contract/working-summary.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { Outcome } from '../runtime/journal.ts';
import { plainEffect } from '../runtime/plain-effect.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import { joinLabels } from '../values/label.ts';
import { DEFAULTS } from '../values/limits.ts';
import { labelOf, type Message } from '../values/message.ts';
import { failed } from './finish.ts';
import { MessageChain } from './message-chain.ts';
import type { Transcript } from './transcript.ts';

/** The conversation of one invocation. */
export interface Conversation {
  readonly store: SummaryStore;
  readonly id: string;
}

/** Turns that continue a saved conversation, which is saved again after them. One that cannot be loaded is a failure. */
export async function inConversation(
  run: RunContext,
  transcript: Transcript,
  turns: (run: RunContext, transcript: Transcript) => Promise<AgentOutcome>,
): Promise<AgentOutcome> {
  const loaded = await load(run, transcript);
  if (!loaded.ok) return failed(transcript, loaded);
  continueFrom(transcript, loaded.value);
  const outcome = await turns(run, transcript);
  await saveConversation(run, transcript, `${transcript.self.path}/@conversation.end`);
  return outcome;
}

/** Saves what a model would be sent of the conversation now. A save that fails is on record, and the next one holds all of it again. */
export async function saveConversation(run: RunContext, transcript: Transcript, key: string): Promise<void> {
  const { conversation, selector, messages } = transcript;
  if (conversation === undefined) return;
  const { store, id } = conversation;
  await memory(run, transcript, key, 'upsert', async (signal) => {
    const summary: WorkingSummary = {
      messages: selector.list(messages).map(labelled),
      covers: messages.length,
      hash: hashOf(messages),
    };
    await store.save(id, JSON.parse(JSON.stringify(summary)) as WorkingSummary, signal);
    return null;
  });
}

async function load(run: RunContext, transcript: Transcript): Promise<Outcome<WorkingSummary | null>> {
  const { conversation, self } = transcript;
  if (conversation === undefined) return { ok: true, value: null };
  const { store, id } = conversation;
  const read = async (signal: AbortSignal) => {
    const saved = await store.load(id, signal);
    return saved === undefined ? null : (run.context.readSummary(saved) as unknown as Json);
  };
  return memory(run, transcript, `${self.path}/@conversation`, 'search', read) as Promise<
    Outcome<WorkingSummary | null>
  >;
}

/**
 * Where the whole conversation is given, the saved messages replace its beginning; new messages alone follow what was saved. Any
 * other list with turns of an assistant is a conversation of its own, which replaces the saved one.
 */
function continueFrom(transcript: Transcript, saved: WorkingSummary | null): void {
  if (saved === null) return;
  const { messages, self, selector } = transcript;
  const summary = deepFreeze(saved.messages);
  const isWhole = saved.covers <= messages.length && hashOf(messages.slice(0, saved.covers)) === saved.hash;
  if (!isWhole && messages.some(({ role }) => role !== 'user')) return;
  if (isWhole) selector.begin(messages, summary, saved.covers);
  else messages.unshift(...summary);
  for (const message of summary) self.label = joinLabels(self.label, labelOf(message));
}

function hashOf(messages: readonly Message[]): string {
  return new MessageChain().extend(messages, 0);
}

function labelled(message: Message): Message {
  return message.label === undefined ? { ...message, label: labelOf(message) } : message;
}

function memory(
  run: RunContext,
  { self }: Transcript,
  key: string,
  operation: 'search' | 'upsert',
  execute: (signal: AbortSignal) => Promise<Json>,
): Promise<Outcome<Json>> {
  const at = { key, self, step: self.step, parent: self.span };
  // Saving again is the same; but what was loaded must be on disk before, or a resume would load what this run has saved.
  const sideEffect = operation === 'search' ? 'none' : 'unsafe';
  const facts = { operation, store: 'conversation' };
  const effect = { kind: 'memory', facts, sideEffect, timeoutMs: DEFAULTS.toolTimeoutMs, execute } as const;
  return run.journal.effect(plainEffect(run, at, effect));
}
