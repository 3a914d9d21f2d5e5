import type { PermissionMode } from 'coxswain';
import type { Words } from './attack-case.ts';

/** `{ allow, ask, deny }` as lines of ours. */
export function rulesOf(words: Words): string[] {
  return ['allow', 'ask', 'deny'].flatMap((effect) =>
    ((words[effect] ?? []) as readonly string[]).map((rule) => `${effect} ${rule}`),
  );
}

const MODES: { readonly [word: string]: PermissionMode } = {
  default: 'ask',
  'non-interactive': 'unattended',
  'auto-approve': 'acceptWrites',
  bypass: 'acceptAll',
};

/** A mode by its word; what is none of these is passed on as it is. */
export function modeOf(word: unknown): PermissionMode | undefined {
  return word === undefined ? undefined : (MODES[String(word)] ?? (word as PermissionMode));
}
