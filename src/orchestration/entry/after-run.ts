import type { Agent } from '../../core/contract/agent.ts';
import type { MemoryExtract, MemoryStore, PendingExtractionQuery } from '../../core/contract/memory.ts';
import { AgentError, messageOf } from '../../core/values/errors.ts';
import { type Label, TRUSTED } from '../../core/values/label.ts';
import { DEFAULTS, type Limits } from '../../core/values/limits.ts';
import { extraction } from '../../memory/upkeep/extraction.ts';
import { pendingInput } from '../../memory/upkeep/pending-input.ts';
import { type Follows, following } from '../run/origin-span.ts';
import type { ExtractionSource, FollowUp } from '../run/run-memories.ts';
import type { RunOptions } from '../run/run-options.ts';
import type { RunTree } from '../run/run-tree.ts';
import { startRunWith } from './start-run.ts';

/** Beyond the time that an extraction may take, so that it is over before another process may claim it. */
const SLACK_MS = 60_000;

/**
 * The work that follows a run, off its caller's path: models extract memories from what was new, then from pending sources of runs
 * whose process died, then upkeep that is due in the stores that it may have written to. Each is a run of its own
 * (`<run id>.extract.…`, `<run id>.upkeep.…`) in the same journal, whose trace links to the run's, within the remaining tokens and
 * costs of the run. Resolves once the sources are stored; `over` when all is done. Neither rejects.
 */
export async function afterRun(
  tree: RunTree,
  { sources, detached, written }: FollowUp,
): Promise<{ readonly over: Promise<void> }> {
  const after = new AfterRun(tree);
  const saved: SavedSource[] = [];
  for (const source of sources) saved.push({ ...source, forget: await after.save(source, saved.length + 1) });
  const over = after.all(saved, detached, written);
  const stores = [...sources.map(({ grant }) => grant.store), ...written.keys()];
  for (const store of new Set([...stores, ...detached.flatMap(({ grants }) => grants.map((grant) => grant.store))]))
    store.background?.(over);
  return { over };
}

/** What remains of the caps of a run and its root. The rest of a detached child's grant belongs to its parent. */
function remainingOf({ perCall: [ledger], root, child }: RunTree): Limits {
  const remaining = ledger.remaining(root);
  return child === undefined ? remaining : Object.fromEntries(Object.keys(remaining).map((name) => [name, 0]));
}

/** A source of an extraction; `forget` removes it where its store has it until then. */
type SavedSource = ExtractionSource & { readonly forget: (() => Promise<void>) | undefined };

class AfterRun {
  readonly #tree: RunTree;
  /** Of the run's caps, what is not spent. */
  #remaining: Limits;
  #count = 0;
  readonly #follows: Follows;

  constructor(tree: RunTree) {
    this.#tree = tree;
    this.#remaining = remainingOf(tree);
    this.#follows = following(tree);
  }

  /** A detached worker under a cap has no remaining budget: the run that it belongs to may extract from its sources at once. */
  get #isForParent(): boolean {
    return this.#tree.child !== undefined && this.#isSpent;
  }

  get #isSpent(): boolean {
    return Object.values(this.#remaining).some((limit) => limit !== undefined && limit <= 0);
  }

  /** Stores a source until its extraction is done. `position`: its number among the run's sources, which are processed in order. */
  async save(
    { self, grant, messages, label, recalled }: ExtractionSource,
    position: number,
  ): Promise<SavedSource['forget']> {
    const { store, namespace, extract } = grant;
    const writer = { agent: self.agent, run: this.#tree.id };
    const pending = { namespace, ...writer, label, input: pendingInput({ messages, label, recalled, writer }) };
    let forget: SavedSource['forget'];
    await this.#quietly(async () => {
      forget = await store.addPendingExtraction?.(pending, this.#isForParent ? 0 : position * leaseOf(extract));
    });
    return forget;
  }

  async all(
    sources: readonly SavedSource[],
    detached: FollowUp['detached'],
    written: FollowUp['written'],
  ): Promise<void> {
    for (const source of sources) await this.#quietly(() => this.#extract(source));
    for (const { self, grant } of sources) {
      const { store, namespace } = grant;
      await this.#quietly(() => this.#extractPending(grant, store, { agent: self.agent, namespace }));
    }
    for (const { agent, run, grants } of detached) {
      for (const grant of grants) await this.#quietly(() => this.#extractPending(grant, grant.store, { agent, run }));
    }
    for (const [store, namespaces] of written) {
      for (const namespace of namespaces) await this.#quietly(() => this.#upkeep(store, namespace));
    }
  }

  async #extract({ self, grant, messages, label, recalled, forget }: SavedSource): Promise<void> {
    if (forget !== undefined && this.#isForParent) return;
    const writer = { agent: self.agent, run: this.#tree.id };
    try {
      await this.#run('extract', extractionOf(grant), { messages, writer, recalled }, label, this.#remaining);
    } finally {
      await forget?.();
    }
  }

  /** Extracts from a pending source of another run of the same agent, whose process died or whose budget was spent. */
  async #extractPending(grant: Extracting, store: MemoryStore, query: PendingExtractionQuery): Promise<void> {
    if (this.#isSpent) return;
    const taken = await store.takePendingExtraction?.(query, leaseOf(grant.extract));
    if (taken === undefined) return;
    const { namespace, input, label } = taken.pending;
    try {
      await this.#run('extract', extractionOf({ ...grant, namespace }), input, label, this.#remaining);
    } finally {
      await taken.end();
    }
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
    if (limits === this.#remaining && this.#isSpent) {
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
      this.#report(new AgentError(`${agent.name} ended with ${result.status}${why}`, result));
    }
    return result.status === 'completed';
  }

  #spend(tokens: number, costUsd: number): void {
    const { tokens: mostTokens, costUsd: mostUsd } = this.#remaining;
    this.#remaining = {
      ...(mostTokens === undefined ? {} : { tokens: mostTokens - tokens }),
      ...(mostUsd === undefined ? {} : { costUsd: mostUsd - costUsd }),
    };
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      this.#report(thrown);
    }
  }

  /** Reports a failure after the run to `onObserverError`, or warns. */
  #report(thrown: unknown): void {
    const { onObserverError } = this.#tree.options;
    if (onObserverError === undefined) {
      process.emitWarning(`run ${this.#tree.id}: what follows it failed: ${messageOf(thrown)}`, 'CoxswainWarning');
      return;
    }
    try {
      onObserverError(thrown);
    } catch {
      // Its own throw is swallowed: there is no one to report it to.
    }
  }
}

interface Extracting {
  readonly store: MemoryStore;
  readonly read?: boolean | undefined;
  readonly extract: MemoryExtract;
}

function extractionOf({ store, namespace, read, extract }: Extracting & { readonly namespace: string }): Agent {
  return extraction(store, { ...extract, namespace, read });
}

function leaseOf({ limits }: MemoryExtract): number {
  return (limits?.timeMs ?? DEFAULTS.timeMs) + SLACK_MS;
}
