import type { Invocation } from '../../core/invocation.ts';

interface Known {
  readonly version: string;
  /** When it was learnt, in steps of the invocation. */
  readonly step: number;
}

/**
 * Which version of each file an invocation has seen last. A child starts with what its parent had seen in the steps before
 * it was called; from then on each goes by what it saw itself, so that one notices what the other wrote.
 */
export class KnownVersions {
  readonly #seen = new WeakMap<Invocation, Map<string, Known>>();

  get(self: Invocation | undefined, path: string): string | undefined {
    return self && this.#of(self).get(path)?.version;
  }

  set(self: Invocation, step: number, path: string, version: string): void {
    this.#of(self).set(path, { version, step });
  }

  #of(self: Invocation): Map<string, Known> {
    const known = this.#seen.get(self);
    if (known !== undefined) return known;
    const { parent, parentStep } = self;
    const before = parentStep !== undefined && parentStep.path === parent?.path ? parentStep.step : undefined;
    const inherited = [...(parent === undefined ? [] : this.#of(parent))];
    const copy = new Map(inherited.filter(([, { step }]) => before === undefined || step < before));
    this.#seen.set(self, copy);
    return copy;
  }
}
