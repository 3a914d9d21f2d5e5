import { HOOK_NAMES, type HookName } from '../core/contract/hooks.ts';
import { checkFunction, checkOptions } from '../core/values/options.ts';

/** Refuses what is no {@link Hooks}; also those of a run. */
export function checkHooks(field: string, hooks: unknown, names: readonly HookName[] = HOOK_NAMES): void {
  if (hooks === undefined) return;
  checkOptions(field, hooks, names);
  for (const name of names) checkFunction(`${field}.${name}`, (hooks as { readonly [name: string]: unknown })[name]);
}
