import { JournalError } from '../../core/errors.ts';
import { isPlainObject } from '../../core/json.ts';
import type { Signal } from '../record-store.ts';

/** What each kind of signal must hold beside its id. */
const HOLDS: { readonly [kind in Signal['kind']]: (signal: { readonly [name: string]: unknown }) => boolean } = {
  decision: ({ decision }) => isPlainObject(decision) && typeof decision.decision === 'string',
  cancel: ({ path, reason }) => typeof path === 'string' && typeof reason === 'string',
  steer: ({ path, message }) => typeof path === 'string' && isPlainObject(message),
};

/**
 * A signal as its sender wrote it. No chain vouches for it, since any process may send one.
 *
 * @throws JournalError where it is none: it says which.
 */
export function readSignal(run: string, id: string, text: string): Signal {
  const signal = jsonOf(text);
  if (isSignal(signal) && signal.id === id) return signal;
  throw new JournalError(
    `run ${run}: what it was told as ${JSON.stringify(id)} was changed or is nothing that a run can be told. Go on in a fork of it (cox fork): what was told stays behind.`,
  );
}

function isSignal(value: unknown): value is Signal {
  if (!isPlainObject(value) || typeof value.kind !== 'string') return false;
  return Object.hasOwn(HOLDS, value.kind) && HOLDS[value.kind as Signal['kind']](value);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
