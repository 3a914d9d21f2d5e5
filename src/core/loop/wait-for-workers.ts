import type { BuiltinProcedureContext } from '../runtime/builtin-context.ts';
import { recordedValue } from '../runtime/prior.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import type { Workers } from '../runtime/workers.ts';
import { ToolError } from '../values/errors.ts';
import type { Stop } from '../values/status.ts';

/** What a wait came to: the workers whose results it gives, or why it gives none. Depends on timing, so it is recorded. */
export interface Waited {
  readonly ended: readonly string[];
  readonly running: readonly string[];
  readonly why?: 'timeout' | 'message' | 'given';
}

/** Waits for a result that was not given before; also ends at a time, or when a message came for the supervisor. */
export async function waitForWorkers(
  workers: Workers,
  { ids, timeoutMs }: { readonly ids?: readonly string[] | undefined; readonly timeoutMs?: number | undefined },
  ctx: BuiltinProcedureContext,
): Promise<Waited> {
  const { run, self, base } = ctx.site;
  const key: OnceKey<Waited> = `${base}/@waited`;
  const recorded = recordedValue(run, key);
  if (recorded !== undefined) return claimed(workers, recorded);
  workers.check(ids ?? []);
  const { ended, running } = workers.open(ids);
  if (ended.length + running.length === 0) {
    const those = ids === undefined ? 'No worker is at work, and every' : 'None of these is at work, and every';
    throw new ToolError('threw', `${those} result was given before.`);
  }
  const until = timeoutMs && run.journal.once(`${base}/@until`, self, () => Date.now() + timeoutMs);
  const waited = await live(workers, ids, until, ctx);
  workers.checkStop(base);
  return run.journal.once(key, self, () => claimed(workers, waited));
}

/** Two calls of one turn do not give the same result. */
function claimed(workers: Workers, waited: Waited): Waited {
  for (const id of waited.ended) workers.claim(id);
  return waited;
}

async function live(
  workers: Workers,
  ids: readonly string[] | undefined,
  until: number | undefined,
  { site }: BuiltinProcedureContext,
): Promise<Waited> {
  const { run, self, base } = site;
  const { inbox, stops } = run;
  const remainingMs = until === undefined ? undefined : Math.max(0, until - Date.now());
  let isOver = false;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const end = () => {
    isOver = true;
    resolve();
  };
  const timer = remainingMs === undefined ? undefined : setTimeout(end, remainingMs);
  const waiting = { key: base, interrupt: (_stop: Stop) => end() };
  stops.enter(waiting);
  // While a timer runs the wait can end by itself: the run must not park.
  if (timer !== undefined) run.activity.busy(self, 1);
  try {
    for (;;) {
      const { ended, running } = workers.open(ids);
      if (ended.length > 0) return { ended, running };
      if (running.length === 0) return { ended, running, why: 'given' };
      if (inbox.hasMessage(self.path)) return { ended, running, why: 'message' };
      if (isOver) return { ended, running, why: 'timeout' };
      await Promise.race([inbox.changed(self.path), over]);
    }
  } finally {
    clearTimeout(timer);
    stops.leave(waiting);
    if (timer !== undefined) run.activity.busy(self, -1);
  }
}
