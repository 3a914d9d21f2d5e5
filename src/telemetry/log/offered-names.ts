/** The name for a tool that the model was not offered: the model invented its name, which may contain content. */
const MADE_UP = 'unknown';

/** The tools that an invocation's model was offered so far: what a log without content may name. */
export class OfferedNames {
  readonly #names = new Set<string>();

  add(names: Iterable<string>): void {
    for (const name of names) this.#names.add(name);
  }

  nameOf(name: string): string {
    return this.#names.has(name) ? name : MADE_UP;
  }
}
