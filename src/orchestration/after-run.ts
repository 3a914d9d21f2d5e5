import type { Agent } from '../core/agent.ts';
import { AgentError, messageOf } from '../core/errors.ts';
import { type Label, TRUSTED } from '../core/label.ts';
import type { Limits } from '../core/limits.ts';
import type { MemoryStore } from '../core/memory.ts';
import { extraction } from '../memory/extraction.ts';
import { type Follows, following } from './origin-span.ts';
import type { Afterwards, Left } from './run-memories.ts';
import type { RunOptions } from './run-options.ts';
import type { RunTree } from './run-tree.ts';
import { startRunWith } from './start-run.ts';

/**
 * What a run leaves to be done once it is over, off its caller's path: models remember what was new, then what is due in the
 * stores that it may have written to. Each is a run of its own (`<run id>.extract.…`, `<run id>.upkeep.…`) in the same
 * journal, whose trace links to the run's, within what is left of the run's tokens and costs. Resolves when all is over; never rejects.
 */
export function afterRun(tree: RunTree, { left, written }: Afterwards): Promise<void> {
  const work = new AfterRun(tree).all(left, written);
  for (const store of new Set([...left.map(({ grant }) => grant.store), ...written.keys()])) store.background?.(work);
  return work;
}

class AfterRun {
  readonly #tree: RunTree;
  /** Of the run's caps, what nobody has spent. */
  #left: Limits;
  #count = 0;
  readonly #follows: Follows;

  constructor(tree: RunTree) {
    this.#tree = tree;
    this.#left = tree.left();
    this.#follows = following(tree);
  }

  async all(left: Afterwards['left'], written: Afterwards['written']): Promise<void> {
    for (const one of left) await this.#quietly(() => this.#extract(one));
    for (const [store, namespaces] of written) {
      for (const namespace of namespaces) await this.#quietly(() => this.#upkeep(store, namespace));
    }
  }

  async #extract({ self, grant, messages, label, recalled }: Left): Promise<void> {
    const { store, namespace, read, extract } = grant;
    const agent = extraction(store, { ...extract, namespace, read });
    const writer = { agent: self.agent, run: this.#tree.id };
    await this.#run('extract', agent, { messages, writer, recalled }, label, this.#left);
  }

  async #upkeep(store: MemoryStore, namespace: string): Promise<void> {
    const due = await store.upkeep?.(namespace);
    if (due === undefined) return;
    let completed = false;
    try {
      completed = await this.#run('upkeep', due.agent, {}, TRUSTED, {});
    } finally {
      await due.end(completed);
    }
  }

  /** A run of its own, under the run's id. True where it completed. */
  async #run(kind: string, agent: Agent, input: unknown, label: Label, limits: Limits): Promise<boolean> {
    if (Object.values(limits).some((limit) => limit !== undefined && limit <= 0)) {
      throw new Error(`nothing is left of the run's tokens or costs for ${agent.name}`);
    }
    const { options, id, epoch } = this.#tree;
    const { signal, model, models, journal, instrument, onObserverError, graceMs } = options;
    this.#count += 1;
    const runId = `${id.slice(0, 180)}.${kind}.${epoch}.${this.#count}`;
    const own: RunOptions = { runId, limits, signal, model, models, journal, instrument, onObserverError, graceMs };
    const result = await startRunWith(agent, input, label, own, this.#follows).result;
    const { usage, costUsd = 0 } = result;
    this.#spend(usage.inputTokens + usage.outputTokens, costUsd);
    if (result.status !== 'completed' && signal?.aborted !== true) {
      const why = result.status === 'suspended' ? '' : `: ${result.error.message}`;
      this.#tell(new AgentError(`${agent.name} ended with ${result.status}${why}`, result));
    }
    return result.status === 'completed';
  }

  #spend(tokens: number, costUsd: number): void {
    const { tokens: mostTokens, costUsd: mostUsd } = this.#left;
    this.#left = {
      ...(mostTokens === undefined ? {} : { tokens: mostTokens - tokens }),
      ...(mostUsd === undefined ? {} : { costUsd: mostUsd - costUsd }),
    };
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      this.#tell(thrown);
    }
  }

  /** The run is over: what goes wrong now is told to whoever observes it. */
  #tell(thrown: unknown): void {
    const { onObserverError } = this.#tree.options;
    if (onObserverError === undefined) {
      process.emitWarning(`run ${this.#tree.id}: what follows it failed: ${messageOf(thrown)}`, 'CoxswainWarning');
      return;
    }
    try {
      onObserverError(thrown);
    } catch {
      // Its own throw is swallowed: there is nobody left to tell.
    }
  }
}
