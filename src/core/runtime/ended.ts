import type { Ending } from '../contract/ending.ts';
import type { HookEnding } from '../contract/hooks.ts';
import { blocked, fire, hooksFor, worsen } from './fire.ts';
import type { Invocation } from './invocation.ts';
import type { RunContext } from './run-context.ts';

/** An ending with the hooks at it. Not async: without any there is no further frame. */
export function ended(run: RunContext, self: Invocation, driven: Promise<Ending>): Promise<Ending> {
  const hooks = hooksFor(run, self, 'onEnd');
  return hooks === undefined ? driven : driven.then((ending) => hooked(run, self, ending, hooks));
}

async function hooked(
  run: RunContext,
  self: Invocation,
  ending: Ending,
  hooks: NonNullable<ReturnType<typeof hooksFor>>,
): Promise<Ending> {
  const { status, text, output, error } = ending;
  const about: HookEnding = { status, text, output, error };
  const key = self.path;
  const isPast = run.journal.recall('agent', key) !== undefined;
  const fired = await fire(run, self, {
    name: 'onEnd',
    hooks,
    key,
    at: `${key}/@onEnd`,
    step: self.step,
    about,
    isPast,
  });
  // It was stopped, or a resume goes on from here: then it ends anew.
  if (!fired.ok) return ending;
  worsen(self, fired.value);
  const { block } = fired.value;
  const { messages } = ending;
  if (block === undefined) return { ...ending, label: self.label };
  if (status !== 'completed') return { ...ending, text: '', label: self.label };
  const why = blocked('content_filter', `The answer was blocked (${block}).`);
  return { self, status: 'model_error', text: '', error: why, messages, label: self.label };
}
