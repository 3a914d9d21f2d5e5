import { canonical, isPlainObject, type Json } from '../core/values/json.ts';

/** A call that a model announced beforehand. */
export interface PinnedCall {
  readonly tool: string;
  readonly args: { readonly [name: string]: Json };
  /** Arguments that may be anything. */
  readonly open?: readonly string[];
}

/** Whether a call is the one that was planned: the same tool, and each argument that is not open the same, none more and none less. */
export function isPlanned(planned: PinnedCall, tool: string, args: Json): boolean {
  if (planned.tool !== tool || !isPlainObject(args)) return false;
  const open = new Set(planned.open);
  const pinned = (of: { readonly [name: string]: unknown }) =>
    canonical(Object.fromEntries(Object.entries(of).filter(([name]) => !open.has(name))));
  return pinned(planned.args) === pinned(args);
}
