import type { HookContext, HookName } from '../contract/hooks.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import { joinLabels } from '../values/label.ts';
import { type HookAnswer, withAnswer } from './hook-answer.ts';
import type { Invocation } from './invocation.ts';
import type { Outcome } from './journal.ts';
import { passedWithoutHooks } from './prior.ts';
import { recordOnce } from './record-once.ts';
import type { RunContext } from './run-context.ts';

type AnyHook = (about: never, context: HookContext<never>) => unknown;

/** Those of the run, then those of the agent; undefined where there are none. */
export function hooksFor(run: RunContext, self: Invocation, name: HookName): readonly AnyHook[] | undefined {
  const ofRun = run.hooks?.[name];
  const own = self.definition.hooks?.[name];
  if (ofRun === undefined && own === undefined) return undefined;
  return [ofRun, own].filter((hook) => hook !== undefined);
}

/** The boundary at which hooks fire, and what they are given. `isPast`: what the boundary is before or after is on record. */
export interface Firing {
  readonly name: HookName;
  readonly hooks: readonly AnyHook[];
  /** Of the call or the invocation; `at` is the record of what they gave. */
  readonly key: string;
  readonly at: string;
  readonly step: number;
  readonly about: object;
  readonly isPast: boolean;
}

const NOTHING: HookAnswer = Object.freeze({});

/**
 * Asks the hooks of one boundary, one after the other; the first that blocks is the last that is asked. What they gave together is
 * recorded. A failure is a block, so only a stop is a failure here. What is on record and had no hooks then has none now.
 */
export async function fire(run: RunContext, self: Invocation, firing: Firing): Promise<Outcome<HookAnswer>> {
  const { name, hooks, key, at, step, about } = firing;
  if (passedWithoutHooks(run, at, firing.isPast)) return { ok: true, value: NOTHING };
  const outcome = await recordOnce(run, self, at, name, async (signal) => {
    const { shared, agent, path, label } = self;
    const context = { deps: run.deps, shared, agent, path, step, key, runId: run.id, label, signal };
    let answer = NOTHING;
    let asked = about;
    for (const hook of hooks) {
      answer = withAnswer(answer, await hook(asked as never, context as HookContext<never>), name);
      if (answer.block !== undefined) break;
      if (answer.args !== undefined) asked = { ...about, args: deepFreeze(answer.args) };
    }
    return answer as Json;
  });
  if (outcome.ok) {
    const answer = deepFreeze(outcome.value) as HookAnswer;
    return { ok: true, value: answer };
  }
  if (outcome.stop !== undefined) return outcome;
  return { ok: true, value: { block: outcome.error.message } };
}

/** What the invocation has seen is worse than it was known to be. */
export function taint(self: Invocation, { label }: HookAnswer): void {
  if (label !== undefined) self.label = joinLabels(self.label, label);
}

/** The error of something that a hook blocked. */
export function blocked(kind: 'denied' | 'content_filter', message: string): ErrorRecord {
  return { kind, message, retryable: false };
}
