import type { HookOutcome } from '../contract/hooks.ts';
import type { AgentOutcome } from './agent-outcome.ts';
import { blocked, fire, hooksFor, taint } from './fire.ts';
import type { Invocation } from './invocation.ts';
import { hasEnded } from './prior.ts';
import type { RunContext } from './run-context.ts';

/** An outcome with the hooks at it. */
export function withEndHooks(run: RunContext, self: Invocation, driven: Promise<AgentOutcome>): Promise<AgentOutcome> {
  const hooks = hooksFor(run, self, 'onEnd');
  return hooks === undefined ? driven : hooked(run, self, driven, hooks);
}

async function hooked(
  run: RunContext,
  self: Invocation,
  driven: Promise<AgentOutcome>,
  hooks: NonNullable<ReturnType<typeof hooksFor>>,
): Promise<AgentOutcome> {
  const outcome = await driven;
  const { status, text, output, error } = outcome;
  const about: HookOutcome = { status, text, output, error };
  const key = self.path;
  const isPast = hasEnded(run, 'agent', key);
  const fired = await fire(run, self, {
    name: 'onEnd',
    hooks,
    key,
    at: `${key}/@onEnd`,
    step: self.step,
    about,
    isPast,
  });
  // It was stopped, or a resume continues from here: then it ends anew.
  if (!fired.ok) return outcome;
  taint(self, fired.value);
  const { block } = fired.value;
  const { messages } = outcome;
  if (block === undefined) return { ...outcome, label: self.label };
  if (status !== 'completed') return { ...outcome, text: '', label: self.label };
  const why = blocked('content_filter', `The answer was blocked (${block}).`);
  return { self, status: 'model_error', text: '', error: why, messages, label: self.label };
}
