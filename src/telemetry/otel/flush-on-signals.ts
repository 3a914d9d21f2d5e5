import { within } from './registered.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const FLUSH_MS = 2_000;

/**
 * Sends what is left before a signal ends the process; what it gives takes that back. Where somebody else listens to the
 * signal the process is theirs to end.
 */
export function flushOnSignals(flush: () => Promise<void>): () => void {
  const off = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  async function onSignal(signal: NodeJS.Signals): Promise<void> {
    const isOurs = process.listenerCount(signal) === 1;
    if (isOurs) off();
    await within(FLUSH_MS, flush()).catch(() => {});
    // With nobody left to listen it does what it always does.
    if (isOurs) process.kill(process.pid, signal);
  }
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return off;
}
