import type { Instrument, SpanHandle, SpanStart } from '../../core/contract/instrument.ts';

/** An instrument whose failure is told and costs a span, never the run. Undefined where it wants nothing of the run. */
export function guardedInstrument(
  instrument: Instrument | undefined,
  failed: (error: unknown) => void,
): Instrument | undefined {
  if (instrument === undefined) return undefined;
  const guarded = <T>(ask: () => T): T | undefined => {
    try {
      return ask();
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
  const wanted = guarded(() => instrument.wants?.() ?? true);
  if (wanted !== true) return undefined;
  const view = (record: Parameters<Instrument>[0]) => instrument(record);
  return Object.assign(view, {
    // Once a span: without a closure.
    start(begun: SpanStart, parent: SpanHandle | undefined) {
      try {
        return instrument.start(begun, parent);
      } catch (error) {
        failed(error);
        return undefined;
      }
    },
    notBefore: () => guarded(() => instrument.notBefore?.()),
    flush: () => instrument.flush?.(),
    abandon: (...how: Parameters<NonNullable<Instrument['abandon']>>) => instrument.abandon?.(...how),
    replayed: (...how: Parameters<NonNullable<Instrument['replayed']>>) => instrument.replayed?.(...how),
  });
}
