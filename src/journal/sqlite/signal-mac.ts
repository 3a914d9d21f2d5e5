import type { Signal } from '../record-store.ts';

/** A signal as it is stored: in a journal with a key it is signed, since an answer decides as much as a record. */
export function storedSignal(run: string, signal: Signal, time: number, key: string | undefined): string {
  return JSON.stringify(key === undefined ? signal : { ...signal, mac: macOf(run, signal, time, key) });
}

/** Whether whoever wrote a signal had the key; `mac` is what stands beside it. */
export function isSigned(run: string, signal: Signal, mac: unknown, time: number, key: string): boolean {
  return mac === macOf(run, signal, time, key);
}

function macOf(run: string, signal: Signal, time: number, key: string): string {
  const { createHmac } = process.getBuiltinModule('node:crypto');
  return createHmac('sha256', key)
    .update(`${run.length} ${time}\n${run}${JSON.stringify(signal)}`)
    .digest('hex');
}
