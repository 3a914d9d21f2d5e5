import { canonical, type Json } from '../core/json.ts';
import { asJson } from './row.ts';

/** The parts whose recorded hash is another than now. What is not recorded, or not asked for, does not differ. */
export function differences(recorded: Json | undefined, now: { readonly [part: string]: Json } | undefined): string[] {
  if (
    now === undefined ||
    recorded === undefined ||
    recorded === null ||
    typeof recorded !== 'object' ||
    Array.isArray(recorded)
  )
    return [];
  const before = recorded as { readonly [part: string]: Json };
  return Object.keys(now).filter(
    (part) =>
      part !== 'shown' &&
      before[part] !== undefined &&
      before[part] !== now[part] &&
      canonical(before[part]) !== canonical(asJson(now[part])),
  );
}
