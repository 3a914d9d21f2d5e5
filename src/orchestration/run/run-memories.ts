import type { MemoryExtract, MemoryGrant, MemoryStore } from '../../core/contract/memory.ts';
import type { Tool } from '../../core/contract/tool.ts';
import type { AgentOutcome } from '../../core/runtime/agent-outcome.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Label } from '../../core/values/label.ts';
import type { Message } from '../../core/values/message.ts';
import { isStopped, type Status } from '../../core/values/status.ts';
import { memoryTools, type ResolvedGrant } from '../../memory/tools/memory-tools.ts';
import { Recalled } from '../../memory/tools/recalled.ts';
import { recalledIn } from '../../memory/upkeep/conversation.ts';

/** What an invocation said that a model is to extract memories from. */
export interface ExtractionSource {
  readonly self: Invocation;
  readonly grant: ResolvedGrant & { readonly extract: MemoryExtract };
  /** Without what the conversation began with. */
  readonly messages: readonly Message[];
  readonly label: Label;
  readonly recalled: readonly string[];
}

/** A worker that ran detached, whose run may not have had the budget for its own extraction. */
export interface DetachedWriter {
  readonly agent: string;
  readonly run: string;
  readonly grants: readonly (MemoryGrant & { readonly extract: MemoryExtract })[];
}

/** The memories that a run's agents were granted: the tools that follow, and what is to be done once the run is over. */
export class RunMemories {
  /** Made with the first grant: most runs have none. */
  #open: WeakMap<Invocation, { readonly grants: readonly ResolvedGrant[]; readonly recalled: Recalled }> | undefined;
  /** By invocation, what of its brief was recalled in earlier runs of the conversation. */
  #before: WeakMap<Invocation, readonly string[]> | undefined;
  #sources: ExtractionSource[] = NO_SOURCES;
  #detached: readonly DetachedWriter[] = NONE_DETACHED;
  #written: Map<MemoryStore, Set<string>> = NOTHING_WRITTEN;

  /** An invocation with grants begins: what earlier runs recalled is not stored again, like what it recalls itself. */
  begins(self: Invocation, brief: readonly Message[]): void {
    const texts = recalledIn(brief);
    if (texts.length === 0) return;
    this.#before ??= new WeakMap();
    this.#before.set(self, texts);
  }

  tools(self: Invocation, grants: readonly ResolvedGrant[]): Tool[] {
    const recalled = new Recalled();
    for (const text of this.#before?.get(self) ?? []) recalled.mark(text);
    this.#open ??= new WeakMap();
    this.#open.set(self, { grants, recalled });
    for (const { store, namespace, write } of grants) {
      if (!write) continue;
      if (this.#written === NOTHING_WRITTEN) this.#written = new Map();
      const names = this.#written.get(store) ?? new Set();
      this.#written.set(store, names.add(namespace));
    }
    return memoryTools(grants, recalled);
  }

  /** An invocation has ended: its transcript is a source where a grant has an extraction. */
  ended(self: Invocation, brief: readonly Message[], { messages, label, status }: AgentOutcome): void {
    const { grants = [], recalled } = this.#open?.get(self) ?? {};
    const grant = grants.find(hasExtract);
    if (grant === undefined || recalled === undefined || isStopped(status)) return;
    this.#sources = [
      ...this.#sources,
      { self, grant, messages: newOf(messages, brief), label, recalled: recalled.texts },
    ];
  }

  /** A detached worker has ended; `run` is the id of its own run. */
  endedDetached({ definition, agent }: Invocation, run: string): void {
    if (definition.type === 'code') return;
    const grants = definition.memory.filter(hasExtract);
    if (grants.length > 0) this.#detached = [...this.#detached, { agent, run, grants }];
  }

  /** The work that follows a run of this status; undefined where there is none. */
  followUp(status: Status): FollowUp | undefined {
    const sources = this.#sources;
    const written = this.#written;
    // The run's handle must not hold transcripts.
    const detached = this.#detached;
    this.#sources = NO_SOURCES;
    this.#detached = NONE_DETACHED;
    // A stopped run begins no more work.
    if (isStopped(status)) return undefined;
    const isAsked =
      sources.length > 0 || detached.length > 0 || [...written.keys()].some((store) => store.upkeep !== undefined);
    return isAsked ? { sources, detached, written } : undefined;
  }
}

/** The work that follows a run. */
export interface FollowUp {
  readonly sources: readonly ExtractionSource[];
  readonly detached: readonly DetachedWriter[];
  /** Namespaces that the run may have written to. */
  readonly written: ReadonlyMap<MemoryStore, ReadonlySet<string>>;
}

const NO_SOURCES: ExtractionSource[] = [];
const NONE_DETACHED: readonly DetachedWriter[] = [];
const NOTHING_WRITTEN = new Map<MemoryStore, Set<string>>();

/** What is new of a transcript: not what the caller handed in of an earlier conversation, nor what was saved of it. */
function newOf(messages: readonly Message[], brief: readonly Message[]): readonly Message[] {
  const first = brief[brief.findLastIndex(({ role }) => role === 'assistant') + 1];
  const from = first === undefined ? brief.length : messages.indexOf(first);
  return messages.slice(Math.max(0, from));
}

function hasExtract<Grant extends Pick<MemoryGrant, 'write' | 'extract'>>(
  grant: Grant,
): grant is Grant & { readonly extract: MemoryExtract } {
  return grant.write === true && grant.extract !== undefined;
}
