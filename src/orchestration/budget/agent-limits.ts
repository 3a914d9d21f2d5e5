import type { Agent } from '../../core/contract/agent.ts';
import type { Grant } from '../../core/contract/detached.ts';
import type { ChildCall } from '../../core/runtime/child-starter.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { signatureOf } from '../../core/turn/repeats.ts';
import { DEFAULTS } from '../../core/values/limits.ts';

/** What admission uses of a run; a resume changes its limits and root. */
export interface AdmissionParts {
  readonly limits: { readonly depth: number; readonly agents: number };
  readonly root: Invocation;
  readonly count: { readonly agents: number };
  /** Set in the run of a detached child. */
  readonly child: { readonly grant: Grant } | undefined;
}

/** Whether a child may start: depth, number, cycles, names, in call order and before any queue. */
export class Admission {
  readonly #run: AdmissionParts;
  /** One definition a name; from the first child on. */
  #definitions: Map<string, Agent> | undefined;

  constructor(run: AdmissionParts) {
    this.#run = run;
  }

  /** Why it may not; undefined where it may. */
  refusal({ agent, parent }: ChildCall): string | undefined {
    const { limits, root, count, child } = this.#run;
    for (let node: Invocation | undefined = parent; node !== undefined; node = node.parent) {
      if (node.agent === agent.name) return `cycle: ${agent.name} is already above in this branch`;
      const max = node.limits.agents;
      if (max !== undefined && node.treeSize() >= max)
        return `the limit of ${max} agents below and with ${node.agent} is reached`;
    }
    if (child?.grant.above.includes(agent.name)) return `cycle: ${agent.name} is already above in this branch`;
    if (parent.depth + 1 > limits.depth) return `the depth limit of ${limits.depth} is reached`;
    if (count.agents >= limits.agents) return `the limit of ${limits.agents} agents in this run is reached`;
    if (agent.type === 'model' && agent.builtin) return undefined;
    this.#definitions ??= new Map([[root.agent, root.definition]]);
    const named = this.#definitions.get(agent.name);
    if (named !== undefined && named !== agent)
      return `duplicate name: within a run ${agent.name} stands for one definition`;
    this.#definitions.set(agent.name, agent);
    return undefined;
  }
}

/**
 * Why a brief that a model wrote is refused as a loop: it was handed on unchanged down the same chain, or to and fro, apart from case
 * and blanks. Code may hand on any brief.
 */
export function loopOf(brief: string, parent: Invocation): string | undefined {
  const max = parent.limits.maxRepeatedCalls ?? DEFAULTS.maxRepeatedCalls;
  const above: string[] = [];
  for (let node: Invocation | undefined = parent; node?.given !== undefined; node = node.parent) above.push(node.given);
  if (above.length < max - 1) return undefined;
  const own = signatureOf('', brief);
  const isLoop = [1, 2].some((stride) => {
    const earlier = Array.from({ length: max - 1 }, (_, index) => above[(index + 1) * stride - 1]);
    return earlier.every((one) => one !== undefined && signatureOf('', one) === own);
  });
  if (!isLoop) return undefined;
  return `Not run: this brief was handed on unchanged by the ${max - 1} workers above. Do it yourself, or split it.`;
}
