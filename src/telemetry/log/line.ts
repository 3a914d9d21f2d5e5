import type { ParentStep } from '../../core/contract/record.ts';
import type { Json } from '../../core/values/json.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import type { ExitRedaction } from '../../security/redaction/exit-redaction.ts';

/**
 * What a request holds that the one before (of the same invocation) did not. The request's messages are the first
 * `from` of the one before, then `new`. `hash` is SHA-256 of the hash before, `from` and the canonical JSON of the new
 * messages as they were sent, joined by `|`: two runs are equal up to a step where their hashes are. The other parts are here on the first line and where they change; null where a part is absent from now on.
 */
export interface LineModelIn {
  readonly new: readonly Json[];
  readonly from: number;
  readonly hash: string;
  readonly model?: string;
  readonly instructions?: Json;
  readonly tools?: Json;
  readonly settings?: Json;
  readonly toolChoice?: Json;
  readonly output?: Json;
}

/** What else happened in a step: `key` is its address, `kind` that of the record, `time` ISO 8601; how long a person was waited for. */
export interface LineEffect {
  readonly key: string;
  readonly kind: string;
  readonly outcome: Json;
  readonly time?: string;
  readonly durationMs?: number;
}

/**
 * A span of the trace: open on start lines, ended on end lines. Times in nanoseconds since 1970, as texts, since a JSON number cannot hold them. It has no content. `cox trace export` makes a trace from these.
 */
export interface LineSpan {
  readonly key: string;
  readonly kind: 'run' | 'agent' | 'model' | 'tool' | 'memory' | 'embedding';
  readonly id: string;
  readonly parent?: string;
  readonly start: string;
  readonly end?: string;
  /** What it began with; a model's again only when it changes. */
  readonly facts?: Json;
  /** How it ended, without what the line itself has of a model call. */
  readonly outcome?: Json;
}

/** One line of the step log. Shapes of contents depend on the log's `content`. */
export interface StepLine {
  readonly traceId: string;
  readonly runId: string;
  readonly agent: string;
  readonly path: string;
  /** 0: a procedure, or an agent that ended before its first step. */
  readonly step: number;
  /** A model call beside the step's own: `@wrapup`, `@repair`; the whole address of an answer to a worker's question. */
  readonly call?: string;
  readonly event: 'start' | 'end';
  readonly parentStep?: ParentStep;
  /** Of the model call; of the agent where there is none. */
  readonly spanId: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly durationMs?: number;
  /** What a procedure was given. */
  readonly input?: Json;
  readonly modelIn?: LineModelIn;
  readonly modelOut?: Json;
  readonly toolCalls?: readonly Json[];
  readonly toolResults?: readonly Json[];
  readonly usage?: CallUsage;
  readonly costUsd?: number;
  /** `completed`, `failed` or `cancelled` of a step; the agent's own status on its last line. */
  readonly status?: string;
  readonly effects?: readonly LineEffect[];
  readonly spans?: readonly LineSpan[];
  /** The number of redactions in this line; absent if there are none. */
  readonly redactions?: number;
}

// JSON allows these characters in a text, but terminals obey some, and readers that split lines by Unicode's rules break at others.
const BREAKS = /[\u007f-\u009f\u2028\u2029]/g;

/** One line of JSON, its secrets redacted, whatever its texts contain. Ends with the line's end. */
export function lineText(line: StepLine, redaction: ExitRedaction): string {
  const { text, count } = redaction.stringify(line);
  const counted = count === 0 ? text : `${text.slice(0, -1)},"redactions":${count}}`;
  return `${counted.replace(BREAKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}
