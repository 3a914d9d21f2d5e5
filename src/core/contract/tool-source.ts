import type { Json } from '../values/json.ts';
import type { Tool } from './tool.ts';

/**
 * Tools that are known only once a run has begun: those of a server. It is listed in an agent's `tools` beside plain ones. The
 * description holds nothing open: what a run needs of it is opened for that run, and closed with it.
 */
export interface ToolSource {
  readonly type: 'source';
  /** One source a name within a tree: rules know its tools as `mcp/<name>/<tool>`. */
  readonly name: string;
  /** What a run keeps of it. Connects to nothing yet. */
  open(runId: string): OpenSource;
}

/** A source as one run has it. */
export interface OpenSource {
  /**
   * What it offers now: plain data, which is recorded. Asked once an invocation; a resume and a replay have it from the
   * records. Rejects where the source cannot be reached or offers what no agent may be given.
   */
  offer(signal: AbortSignal): Promise<Json>;
  /** The tools of an offer, this run's or a recorded one. Throws where the offer is not this source's. */
  tools(offer: Json): readonly Tool[];
  /** Lets go of all that it opened. Called once, when the run ends or parks; never rejects. */
  close(): Promise<void>;
}

export function isToolSource(value: unknown): value is ToolSource {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'source';
}
