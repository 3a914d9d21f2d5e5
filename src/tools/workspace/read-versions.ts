import type { CallingNode } from '../../core/contract/tool.ts';

interface ReadVersion {
  readonly version: string;
  /** The step of the invocation in which it was read. */
  readonly step: number;
}

/**
 * The version of each file that an invocation has read last. A child starts with the versions that its parent had read before the
 * call; from then on each has its own, so that one notices what the other wrote.
 */
export class ReadVersions {
  /** By path, in the order of reading. */
  readonly #versions = new WeakMap<CallingNode, Map<string, ReadVersion[]>>();

  get(self: CallingNode | undefined, path: string): string | undefined {
    return self && this.#of(self).get(path)?.at(-1)?.version;
  }

  set(self: CallingNode, step: number, path: string, version: string): void {
    const byPath = this.#of(self);
    const versions = byPath.get(path);
    if (versions?.at(-1)?.step === step) versions.pop();
    if (versions === undefined) byPath.set(path, [{ version, step }]);
    else versions.push({ version, step });
  }

  #of(self: CallingNode): Map<string, ReadVersion[]> {
    const versions = this.#versions.get(self);
    if (versions !== undefined) return versions;
    const own = new Map<string, ReadVersion[]>();
    const { parent, parentStep } = self;
    // The calls of a procedure have no step that orders them.
    const before = parentStep !== undefined && parentStep.path === parent?.path ? parentStep.step : Infinity;
    for (const [path, versions] of parent === undefined ? [] : this.#of(parent)) {
      const last = versions.findLast(({ step }) => step < before);
      // Read before its own first step.
      if (last !== undefined) own.set(path, [{ version: last.version, step: 0 }]);
    }
    this.#versions.set(self, own);
    return own;
  }
}
