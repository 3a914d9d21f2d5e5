/** Calls that are not `parallel` run one at a time, in call order among those that may start. One lane for each turn. */
export class Lane {
  #last: Promise<void> | undefined;

  /** Resolves when it is this call's turn, with the function that ends the turn. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    return resolve;
  }
}
