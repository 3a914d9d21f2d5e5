import { JournalError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { Signal } from '../record-store.ts';
import { isSigned } from './signal-mac.ts';

/** What each kind of signal must hold beside its id. */
const HOLDS: { readonly [kind in Signal['kind']]: (signal: { readonly [name: string]: unknown }) => boolean } = {
  decision: ({ decision }) => isPlainObject(decision) && typeof decision.decision === 'string',
  cancel: ({ path, reason }) => typeof path === 'string' && typeof reason === 'string',
  steer: ({ path, message }) => typeof path === 'string' && isPlainObject(message),
};

/**
 * A signal as its sender wrote it. No chain vouches for it, since any process may send one; in a journal with a key its sender has that.
 *
 * @throws JournalError where it is none: it says which.
 */
export function readSignal(
  { run, key }: { readonly run: string; readonly key: string | undefined },
  id: string,
  text: string,
  time: number,
): Signal {
  const stored = jsonOf(text);
  const { mac, ...signal } = isPlainObject(stored) ? stored : {};
  const isOurs = isSignal(signal) && signal.id === id;
  if (isOurs && (key === undefined || isSigned(run, signal, mac, time, key))) return signal;
  const problem = isOurs ? 'was sent by somebody without the key of the journal' : 'is nothing that a run can be told';
  throw new JournalError(
    `run ${run}: what it was told as ${JSON.stringify(id)} was changed or ${problem}. Go on in a fork of it (cox fork): what was told stays behind.`,
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
