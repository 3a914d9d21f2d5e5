import type { Tool } from '../contract/tool.ts';
import { ToolError } from '../values/errors.ts';
import type { AgentOutcome } from './agent-outcome.ts';
import type { Invocation } from './invocation.ts';

/** A worker's conversation, which its supervisor may continue. */
export interface Thread {
  /** The delegate whose worker it is. */
  readonly delegate: Tool;
  /** Of its newest invocation. */
  outcome: Promise<AgentOutcome>;
  isRunning: boolean;
}

/** The threads of an invocation's workers, by the id of the first invocation of each. */
export class Threads {
  readonly #all = new Map<string, Thread>();

  has(id: string): boolean {
    return this.#all.has(id);
  }

  /** An invocation of a worker has begun: a thread of its own, or more of one. */
  begin(id: string, delegate: Tool, outcome: Promise<AgentOutcome>): void {
    const thread = this.#all.get(id) ?? { delegate, outcome, isRunning: true };
    thread.outcome = outcome;
    thread.isRunning = true;
    this.#all.set(id, thread);
    void follow(thread, outcome);
  }

  /** A ToolError where no worker of this invocation has the id. */
  of(id: string): Thread {
    const thread = this.#all.get(id);
    if (thread !== undefined) return thread;
    const ids = [...this.#all.keys()].join(', ') || '(none)';
    const unknown = JSON.stringify(id.slice(0, 64));
    throw new ToolError('invalid_args', `There is no worker ${unknown} to continue. Workers are: ${ids}.`);
  }
}

async function follow(thread: Thread, outcome: Promise<AgentOutcome>): Promise<void> {
  try {
    await outcome;
  } catch {
    // Infrastructure failed: the caller that awaits the outcome throws that.
  }
  if (thread.outcome === outcome) thread.isRunning = false;
}

/** A worker as its supervisor and its siblings name it: its address below the supervisor. */
export function workerId({ path, parent }: Invocation): string {
  return parent === undefined ? path : path.slice(parent.path.length + 1);
}
