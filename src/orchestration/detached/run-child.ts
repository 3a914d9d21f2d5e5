import type { DetachedChild, DetachedOutcome } from '../../core/contract/detached.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { find } from '../run/child.ts';
import type { CheckedOptions } from '../run/run-options.ts';
import { runHere } from './run-here.ts';

/** What starting a detached child uses of the run it belongs to. */
export interface ChildRunner {
  readonly options: CheckedOptions;
  readonly root: Invocation;
}

/** Runs a detached child where the journal of its parent runs them, else in this process. Its spans lie below its node's. */
export function runChild(run: ChildRunner, child: DetachedChild, signal: AbortSignal): Promise<DetachedOutcome> {
  const spanned = { ...child, ...spanAbove(run, child) };
  const { runDetached } = run.options.journal ?? {};
  return runDetached === undefined ? runHere(run, spanned, signal) : runDetached(spanned, signal);
}

function spanAbove({ root }: ChildRunner, { parent }: DetachedChild): Pick<DetachedChild, 'span'> {
  const self = find(root, parent.key);
  const handle = self?.span.handle;
  if (self === undefined || handle === undefined || Number.parseInt(handle.spanId, 16) === 0) return {};
  return { span: { traceId: handle.traceId, spanId: handle.spanId, since: String(self.since) } };
}
