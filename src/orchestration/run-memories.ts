import type { Ending } from '../core/ending.ts';
import type { Invocation } from '../core/invocation.ts';
import type { Label } from '../core/label.ts';
import type { MemoryExtract, MemoryStore } from '../core/memory.ts';
import type { Message } from '../core/message.ts';
import type { Status } from '../core/status.ts';
import type { Tool } from '../core/tool.ts';
import { memoryTools, type ResolvedGrant } from '../memory/memory-tools.ts';
import { Recalled } from '../memory/recalled.ts';

/** What an invocation leaves for a model to remember something of. */
export interface Left {
  readonly self: Invocation;
  readonly grant: ResolvedGrant & { readonly extract: MemoryExtract };
  /** Without what the conversation began with. */
  readonly messages: readonly Message[];
  readonly label: Label;
  readonly recalled: readonly string[];
}

/** Who stopped a run does not want it to go on with something else. */
const STOPPED: readonly (Status | 'running' | 'waiting')[] = [
  'aborted',
  'cancelled',
  'suspended',
  'running',
  'waiting',
];

/** The memories that a run's agents were granted: the tools that follow, and what is to be done once the run is over. */
export class RunMemories {
  readonly #open = new WeakMap<
    Invocation,
    { readonly grants: readonly ResolvedGrant[]; readonly recalled: Recalled }
  >();
  readonly #left: Left[] = [];
  readonly #written = new Map<MemoryStore, Set<string>>();

  tools(self: Invocation, grants: readonly ResolvedGrant[]): Tool[] {
    const recalled = new Recalled();
    this.#open.set(self, { grants, recalled });
    for (const { store, namespace, write } of grants) {
      if (!write) continue;
      const names = this.#written.get(store) ?? new Set();
      this.#written.set(store, names.add(namespace));
    }
    return memoryTools(grants, recalled);
  }

  /** An invocation is over: its transcript is kept where a grant has an extraction. */
  ended(self: Invocation, brief: readonly Message[], { messages, label, status }: Ending): void {
    const { grants = [], recalled } = this.#open.get(self) ?? {};
    const grant = grants.find(hasExtract);
    if (grant === undefined || recalled === undefined || STOPPED.includes(status)) return;
    const from = brief.findLastIndex(({ role }) => role === 'assistant') + 1;
    this.#left.push({ self, grant, messages: messages.slice(from), label, recalled: recalled.texts });
  }

  /** What is to be done now that the run ended so. */
  afterwards(status: Status): {
    readonly left: readonly Left[];
    readonly written: ReadonlyMap<MemoryStore, Set<string>>;
  } {
    return STOPPED.includes(status) ? NOTHING : { left: this.#left, written: this.#written };
  }
}

const NOTHING = { left: [], written: new Map<MemoryStore, Set<string>>() };

function hasExtract(grant: ResolvedGrant): grant is Left['grant'] {
  return grant.write && grant.extract !== undefined;
}
