/** Calls that are not `parallel` run one at a time, in call order among those that may start. One lane for each turn. */
export class Lane {
  #last: Promise<void> | undefined;

  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    try {
      return await work();
    } finally {
      resolve();
    }
  }
}
