import type { DetachedChild, RunDetached } from '../../core/contract/detached.ts';
import { find } from '../run/child.ts';
import type { RunTree } from '../run/run-tree.ts';
import { runHere } from './run-here.ts';

/** Where detached children run: where the runs of the journal are at home, else in this process. Their spans lie below their node's. */
export function detachedRunner(tree: RunTree): RunDetached {
  const run: RunDetached = tree.options.journal?.runDetached ?? ((child, signal) => runHere(tree, child, signal));
  return (child, signal) => run({ ...child, ...spanAbove(tree, child) }, signal);
}

function spanAbove({ root }: RunTree, { parent }: DetachedChild): Pick<DetachedChild, 'span'> {
  const self = find(root, parent.key);
  const handle = self?.span.handle;
  if (self === undefined || handle === undefined || Number.parseInt(handle.spanId, 16) === 0) return {};
  return { span: { traceId: handle.traceId, spanId: handle.spanId, since: String(self.since) } };
}
