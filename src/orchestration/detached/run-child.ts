import type { DetachedChild, DetachedOutcome } from '../../core/contract/detached.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { RecordStore } from '../../journal/record-store.ts';

/** What starting a detached child uses of the run it belongs to. */
export interface ChildRunner {
  readonly options: { readonly journal: RecordStore | undefined };
  readonly root: Invocation;
  readonly starter: {
    /** Runs the child in this process. */
    runHere(child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome>;
  };
}

/** Runs a detached child where the journal of its parent runs them, else in this process. Its spans lie below its node's. */
export function runChild(run: ChildRunner, child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome> {
  const spanned = { ...child, ...spanAbove(run, child) };
  const { runDetached } = run.options.journal ?? {};
  return runDetached === undefined ? run.starter.runHere(spanned, signal) : runDetached(spanned, signal);
}

function spanAbove({ root }: ChildRunner, { parent }: DetachedChild): Pick<DetachedChild, 'span'> {
  const self = root.find(parent.key);
  const handle = self?.span.handle;
  if (self === undefined || handle === undefined || Number.parseInt(handle.spanId, 16) === 0) return {};
  return { span: { traceId: handle.traceId, spanId: handle.spanId, since: String(self.since) } };
}
