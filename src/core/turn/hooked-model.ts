import type { HookRequest, HookTurn } from '../contract/hooks.ts';
import { blocked, type Firing, fire, hooksFor, taint } from '../runtime/fire.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Failure, Outcome } from '../runtime/journal.ts';
import { hasEnded } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { beside } from '../values/address.ts';
import type { ModelTurn } from '../values/model.ts';
import type { ModelCallEffect } from './model-call.ts';

/** One model call with the hooks before and after it. */
export function callModel(run: RunContext, self: Invocation, call: ModelCallEffect): Promise<Outcome<ModelTurn>> {
  const before = hooksFor(run, self, 'beforeModel');
  const after = hooksFor(run, self, 'afterModel');
  if (before === undefined && after === undefined) return run.journal.effect(call);
  return hooked(run, self, call, before, after);
}

type Fired = Firing['hooks'] | undefined;

async function hooked(
  run: RunContext,
  self: Invocation,
  call: ModelCallEffect,
  before: Fired,
  after: Fired,
): Promise<Outcome<ModelTurn>> {
  const { key, step } = call;
  const { instructions, messages, tools, toolChoice, settings, model } = call.started().request;
  if (before !== undefined) {
    const about: HookRequest = { model, instructions, messages: messages.slice(), tools, toolChoice, settings };
    const isPast = hasEnded(run, 'model', key);
    const at = beside(key, 'beforeModel');
    const fired = await fire(run, self, { name: 'beforeModel', hooks: before, key, at, step, about, isPast });
    if (!fired.ok) return fired;
    taint(self, fired.value);
    const { block } = fired.value;
    if (block !== undefined) return neverAsked(`The model was not asked: it was blocked (${block}).`);
  }
  const outcome = await run.journal.effect(call);
  if (after === undefined || !outcome.ok) return outcome;
  const { content, stop, usage, costUsd, by } = outcome.value;
  const about: HookTurn = { model: by === undefined ? model : `${by.provider}/${by.id}`, content, stop, usage };
  const at = beside(key, 'afterModel');
  const fired = await fire(run, self, { name: 'afterModel', hooks: after, key, at, step, about, isPast: false });
  if (!fired.ok) return { ...fired, error: { ...fired.error, ...spent(usage, costUsd) } };
  taint(self, fired.value);
  const { block } = fired.value;
  if (block === undefined) return outcome;
  const error = blocked('content_filter', `The turn of the model was blocked (${block}).`);
  return { ok: false, error: { ...error, ...spent(usage, costUsd) } };
}

function neverAsked(message: string): Failure {
  return { ok: false, error: blocked('content_filter', message), isAsked: false };
}

/** It was paid for all the same. */
function spent(usage: ModelTurn['usage'], costUsd: number | undefined) {
  return { ...(usage !== undefined && { usage }), ...(costUsd !== undefined && { costUsd }) };
}
