import { type DetachedOutcome, nodesOf } from '../../core/contract/detached.ts';
import type { Limits } from '../../core/values/limits.ts';

/** The numbers of a tree that limits bound. */
export interface Counts {
  steps: number;
  toolCalls: number;
  agents: number;
}

/**
 * The part of its grant that a detached child may still use, reserved in the counts of its run from its grant to its end. So the caps
 * above hold for its siblings too, and while it waits for a person. What it has used counts, and is no longer reserved.
 */
export class ReservedCounts {
  readonly #count: Counts;
  readonly #reserved: Counts;
  #used: Counts;

  /** `before` is its outcome in an earlier epoch, which counts already. */
  constructor(count: Counts, { steps = 0, toolCalls = 0, agents = 1 }: Limits, before: DetachedOutcome | undefined) {
    this.#count = count;
    this.#used = countsOf(before);
    this.#reserved = less({ steps, toolCalls, agents }, this.#used);
    add(count, this.#reserved, 1);
  }

  /** Counts what it used until the end of a stretch. */
  used(outcome: DetachedOutcome): void {
    const now = countsOf(outcome);
    const more = less(now, this.#used);
    this.#used = now;
    add(this.#count, more, 1);
    const used = least(more, this.#reserved);
    add(this.#count, used, -1);
    add(this.#reserved, used, -1);
  }

  /** Releases the rest: the child has ended. */
  release(): void {
    add(this.#count, this.#reserved, -1);
    Object.assign(this.#reserved, NOTHING);
  }
}

const NOTHING: Counts = { steps: 0, toolCalls: 0, agents: 0 };

/** The child itself counts already. */
function countsOf(outcome: DetachedOutcome | undefined): Counts {
  if (outcome === undefined) return { steps: 0, toolCalls: 0, agents: 1 };
  const { steps, toolCalls, tree } = outcome;
  return { steps, toolCalls, agents: nodesOf(tree) };
}

function less(a: Counts, b: Counts): Counts {
  const { max } = Math;
  return {
    steps: max(0, a.steps - b.steps),
    toolCalls: max(0, a.toolCalls - b.toolCalls),
    agents: max(0, a.agents - b.agents),
  };
}

function least(a: Counts, b: Counts): Counts {
  const { min } = Math;
  return {
    steps: min(a.steps, b.steps),
    toolCalls: min(a.toolCalls, b.toolCalls),
    agents: min(a.agents, b.agents),
  };
}

function add(count: Counts, more: Counts, sign: 1 | -1): void {
  count.steps += sign * more.steps;
  count.toolCalls += sign * more.toolCalls;
  count.agents += sign * more.agents;
}
