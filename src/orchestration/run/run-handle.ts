import type { EventOf, EventType, RunEvent } from '../../core/contract/event.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { RunResult, TreeNode } from '../../core/contract/result.ts';
import type { SteerMessage } from './steer.ts';

/** Called with each event of one type. What it throws or rejects with reaches `onObserverError`, never the run. */
export type Listener<Type extends EventType> = (event: EventOf<Type>) => unknown;

/**
 * A run under way: an emitter of events, an iterable of them, and `result`. It starts in the next microtask, so no early event
 * is missed; leaving a loop over it does not cancel it.
 *
 * @example
 * const run = startRun(lead, 'Compare A and B', { model });
 * run.on('agent.end', (event) => console.error(event.path, event.status));
 * for await (const text of run.text()) process.stdout.write(text);
 * const result = await run.result;
 */
export interface Run<Output = unknown> extends AsyncIterable<RunEvent> {
  readonly id: string;
  /** 32 hex digits; of this epoch. */
  readonly traceId: string;
  /** Settles when the run is over and every view is flushed. Rejects only for programming errors and failed infrastructure. */
  readonly result: Promise<RunResult<Output>>;
  /**
   * Resolves when the work after the result is done too: extraction of memories, upkeep of a memory that was due. Never rejects.
   * Wait for it before you close the journal.
   */
  readonly settled: Promise<void>;
  /** Calls `listener` at each event of a type, from now on. */
  on<Type extends EventType>(type: Type, listener: Listener<Type>): this;
  /** The same, for the next event of the type alone. */
  once<Type extends EventType>(type: Type, listener: Listener<Type>): this;
  /** Takes a listener of `on` or `once` off. */
  off<Type extends EventType>(type: Type, listener: Listener<Type>): this;
  /** The text of the root, or of the node at `path`, as it comes. What a retried stream repeats is not repeated. */
  text(path?: string): AsyncIterable<string>;
  /** The tree as it is now. */
  tree(): TreeNode;
  /** What waits for a person or another process. */
  pending(): readonly (ApprovalRequest | WaitRequest)[];
  /**
   * Answers a request. The first decision wins; a later one, one of the wrong kind and one from inside the tree reject with a
   * ConfigurationError.
   */
  decide(id: string, decision: Decision): Promise<void>;
  /** Stops the node at `path` and all below it, by default the whole run; resolves once it has ended. */
  cancel(path?: string, reason?: string): Promise<void>;
  /**
   * A user message for the node at `path`, `from: 'operator'`: it enters the node's transcript at its next step boundary; a node
   * that is about to end with an answer takes one more step. Resolves when it has entered, or when the run is suspended with it;
   * rejects where the node ends without it.
   *
   * @throws ConfigurationError at once for a path that is not in the run, has ended or is a procedure, for a message that is
   * none, and from inside the tree.
   * @example run.steer('lead/2.0/researcher', 'Leave the patents out.');
   */
  steer(path: string, message: SteerMessage): Promise<void>;
}
