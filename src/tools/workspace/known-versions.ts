import type { CallingNode } from '../../core/contract/tool.ts';

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
  /** By path, in the order in which they were learnt. */
  readonly #seen = new WeakMap<CallingNode, Map<string, Known[]>>();

  get(self: CallingNode | undefined, path: string): string | undefined {
    return self && this.#of(self).get(path)?.at(-1)?.version;
  }

  set(self: CallingNode, step: number, path: string, version: string): void {
    const seen = this.#of(self);
    const known = seen.get(path);
    if (known?.at(-1)?.step === step) known.pop();
    if (known === undefined) seen.set(path, [{ version, step }]);
    else known.push({ version, step });
  }

  #of(self: CallingNode): Map<string, Known[]> {
    const known = this.#seen.get(self);
    if (known !== undefined) return known;
    const own = new Map<string, Known[]>();
    const { parent, parentStep } = self;
    // Of a procedure's calls no step says which came first.
    const before = parentStep !== undefined && parentStep.path === parent?.path ? parentStep.step : Infinity;
    for (const [path, versions] of parent === undefined ? [] : this.#of(parent)) {
      const last = versions.findLast(({ step }) => step < before);
      // Learnt before its own first step.
      if (last !== undefined) own.set(path, [{ version: last.version, step: 0 }]);
    }
    this.#seen.set(self, own);
    return own;
  }
}
