import type { Progress } from '../contract/tool.ts';
import type { ModelDelta } from '../values/model.ts';
import type { Invocation } from './invocation.ts';

/** Shows the listeners of a run what is no record: chunks of answers and progress of tools. */
export interface Observers {
  /** True while a listener receives chunks. */
  readonly isListening: boolean;
  delta(self: Invocation, key: string, step: number, attempt: number, delta: ModelDelta): void;
  progress(self: Invocation, key: string, step: number, name: string, callId: string, progress: Progress): void;
}
