/** The three protocols, by the names that the adapters give them. */
export const APIS = ['chat', 'responses', 'messages'] as const;
export type Api = (typeof APIS)[number];

/**
 * The task of a run. The model's name encodes it, so that the server, another process, can answer each request from the name and the
 * number of tool results alone.
 */
export type Task =
  /** `steps` model calls, each but the last with one tool call, after `earlier` pairs of a call and its result. */
  | { readonly kind: 'steps'; readonly steps: number; readonly earlier: number; readonly latencyMs: number }
  /** A first turn with `calls` calls, a second that is a text. */
  | { readonly kind: 'lead'; readonly calls: number; readonly latencyMs: number }
  /** A text of `chunks` pieces, each flushed by itself. */
  | { readonly kind: 'text'; readonly chunks: number };

export function modelOf(task: Task): string {
  switch (task.kind) {
    case 'steps':
      return `steps-${task.steps}-${task.earlier}-${task.latencyMs}`;
    case 'lead':
      return `lead-${task.calls}-${task.latencyMs}`;
    case 'text':
      return `text-${task.chunks}`;
  }
}

export function taskOf(model: string): Task {
  const [kind, ...counts] = model.split('-');
  const [a = 0, b = 0, c = 0] = counts.map(Number);
  if (kind === 'steps') return { kind, steps: a, earlier: b, latencyMs: c };
  if (kind === 'lead') return { kind, calls: a, latencyMs: b };
  if (kind === 'text') return { kind, chunks: a };
  throw new Error(`no task ${model}`);
}

/** One piece of a streamed text. */
export const PIECE = 'word ';

/** What a contender is to run, as a whole: an agent, agents below agents, or a team. */
export interface Job {
  readonly api: Api;
  readonly url: string;
  readonly stream: boolean;
  readonly shape:
    | { readonly kind: 'agent'; readonly steps: number; readonly earlier: number; readonly latencyMs: number }
    /** `depth` agents, each below the one before; the last streams a text of `chunks` pieces, which the root's listener receives. */
    | { readonly kind: 'nested'; readonly depth: number; readonly chunks: number }
    | {
        readonly kind: 'team';
        readonly workers: number;
        readonly steps: number;
        readonly limit: number;
        readonly latencyMs: number;
      };
}

/** The number of executed tool calls, or of received characters: a correct run's is {@link expected}. */
export type Run = () => Promise<number>;

export interface HttpContender {
  readonly name: string;
  /** What is prepared once (definitions, clients, histories) is not measured. */
  prepare(job: Job): Promise<Run>;
}

export function expected({ shape }: Job): number {
  switch (shape.kind) {
    case 'agent':
      return shape.steps - 1;
    case 'nested':
      return shape.chunks * PIECE.length;
    case 'team':
      return shape.workers * (shape.steps - 1);
  }
}

/** Model calls of a run. */
export function requests({ shape }: Job): number {
  switch (shape.kind) {
    case 'agent':
      return shape.steps;
    case 'nested':
      return 2 * shape.depth - 1;
    case 'team':
      return 2 + shape.workers * shape.steps;
  }
}
