import type { RunRecord } from '../../core/contract/record.ts';
import type { Progress } from '../../core/contract/tool.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { ModelDelta } from '../../core/values/model.ts';

interface At {
  readonly self: Invocation;
  readonly key: string;
  readonly step: number;
}

/** What of a run is shown to whom; set by the handle while somebody listens. */
export interface Sink {
  record: ((record: RunRecord) => void) | undefined;
  delta: ((at: At, attempt: number, delta: ModelDelta) => void) | undefined;
  progress: ((at: At, call: { name: string; callId: string }, progress: Progress) => void) | undefined;
}
