import type { Invocation } from '../../core/runtime/invocation.ts';

/** A first-in, first-out queue. */
class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get isEmpty(): boolean {
    return this.#head === this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    this.#head += 1;
    if (this.isEmpty) {
      this.#items = [];
      this.#head = 0;
    }
    return item;
  }
}

/** A node of the tree with calls that wait: its own, and those of each branch below it. */
class Branch<T> {
  readonly own = new Fifo<T>();
  readonly below = new Map<Invocation, Branch<T>>();
  /** The branches in the order of their turns; `this` is the turn of its own calls. */
  readonly turns = new Fifo<Branch<T>>();
  readonly node: Invocation | undefined;

  constructor(node: Invocation | undefined) {
    this.node = node;
  }
}

/**
 * A queue that is fair between branches of the tree, at every level: the branches below a node are served in turn, one call of each,
 * however many calls each has; the calls of one invocation in the order they came.
 */
export class FairQueue<T> {
  /** From the first that waits on: most runs never queue. */
  #root: Branch<T> | undefined;
  size = 0;

  push(item: T, self: Invocation): void {
    this.size += 1;
    const path: Invocation[] = [];
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) path.push(node);
    this.#root ??= new Branch(undefined);
    let branch = this.#root;
    for (let index = path.length - 1; index >= 0; index -= 1) {
      const node = path[index] as Invocation;
      let next = branch.below.get(node);
      if (next === undefined) {
        next = new Branch(node);
        branch.below.set(node, next);
        branch.turns.push(next);
      }
      branch = next;
    }
    if (branch.own.isEmpty) branch.turns.push(branch);
    branch.own.push(item);
  }

  /** The next in turn; undefined where nothing waits. */
  shift(): T | undefined {
    if (this.size === 0 || this.#root === undefined) return undefined;
    this.size -= 1;
    return next(this.#root);
  }
}

function next<T>(branch: Branch<T>): T | undefined {
  const turn = branch.turns.shift();
  if (turn === undefined) return undefined;
  if (turn === branch) {
    const item = branch.own.shift();
    if (!branch.own.isEmpty) branch.turns.push(branch);
    return item;
  }
  const item = next(turn);
  if (!turn.turns.isEmpty) branch.turns.push(turn);
  else if (turn.node !== undefined) branch.below.delete(turn.node);
  return item;
}
