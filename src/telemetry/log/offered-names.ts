/** How a tool is called that a model was not offered: it made the name up, which may say anything. */
const MADE_UP = 'unknown';

/** The tools that an invocation's model was offered so far: what a log without content may name. */
export class OfferedNames {
  readonly #names = new Set<string>();

  add(names: Iterable<string>): void {
    for (const name of names) this.#names.add(name);
  }

  shown(name: string): string {
    return this.#names.has(name) ? name : MADE_UP;
  }
}
