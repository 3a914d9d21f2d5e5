import { withTimeout } from './registered.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const FLUSH_MS = 2_000;

/**
 * Sends what is queued before a signal ends the process; the returned function undoes this. If there is another listener
 * for the signal, that listener decides whether the process ends.
 */
export function flushOnSignals(flush: () => Promise<void>): () => void {
  const off = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  async function onSignal(signal: NodeJS.Signals): Promise<void> {
    const isOurs = process.listenerCount(signal) === 1;
    if (isOurs) off();
    await withTimeout(FLUSH_MS, flush()).catch(() => {});
    // Without another listener the signal has its default effect.
    if (isOurs) process.kill(process.pid, signal);
  }
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return off;
}
