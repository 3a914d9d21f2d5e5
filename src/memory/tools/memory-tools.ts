import { defineTool } from '../../core/call/define-tool.ts';
import type { MemoryExtract, MemorySelect, MemoryStore } from '../../core/contract/memory.ts';
import type { ProcedureContext } from '../../core/contract/procedure-context.ts';
import type { Tool } from '../../core/contract/tool.ts';
import type { BuiltinProcedureContext } from '../../core/runtime/builtin-context.ts';
import { memorySearch } from './memory-search.ts';
import {
  type Changeable,
  forgetEntry,
  type Save,
  saveEntry,
  updateEntry,
  type WritableEntry,
} from './memory-writes.ts';
import { isEditable } from './propose-only.ts';
import { Recalled } from './recalled.ts';

/** A grant whose functions and defaults are resolved. */
export interface ResolvedGrant {
  readonly store: MemoryStore;
  readonly namespace: string;
  readonly read: boolean;
  readonly write: boolean;
  readonly select?: MemorySelect | undefined;
  readonly extract?: MemoryExtract | undefined;
}

/**
 * The tools of an agent's grants: `memory_search` over all that it may read; `memory_save` into the first that it may write;
 * `memory_update` and `memory_forget` for entries of those that it may read and write, if
 * their store supports it. Namespaces and rights come from the grants, never from the model. Each embedding, search and write is a
 * separate effect. There is one `recalled` per invocation.
 */
export function memoryTools(grants: readonly ResolvedGrant[], recalled = new Recalled()): Tool[] {
  const readable = grants.filter((grant) => grant.read);
  const writable = grants.find((grant) => grant.write);
  const changeable = grants.flatMap(({ store, namespace, read, write }) =>
    read && write && isEditable(store) ? [{ store, namespace }] : [],
  );
  return [
    ...(readable.length > 0 ? [memorySearch(readable, recalled)] : []),
    ...(writable !== undefined ? [memorySave(writable, recalled)] : []),
    ...(changeable.length > 0 ? [memoryUpdate(changeable), memoryForget(changeable)] : []),
  ];
}

const TEXT = { type: 'string', minLength: 1, description: 'The fact' } as const;
const ENTRY = {
  id: { type: 'string', description: 'Of an entry that memory_search gave' },
  version: { type: 'integer', minimum: 1, description: 'Its version, as memory_search gave it' },
} as const;
/** Only a confirmation comes back. Stores that keep labels are no sinks: their grants govern them. */
const WRITING = { access: 'read', result: { integrity: 'trusted' }, parallel: false } as const;

function memorySave(grant: ResolvedGrant, recalled: Recalled): Tool {
  const more = {
    kind: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: 'user, feedback, project, reference, or a word of your own',
    },
    key: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'What the fact is the value of, such as user/city: a later save with the same key replaces it',
    },
  };
  return defineTool({
    name: 'memory_save',
    description:
      'Saves a text to the long-term memory: one fact, in words that make sense without this conversation. ' +
      'What memory_search gave is there already.',
    ...WRITING,
    input: {
      type: 'object',
      properties: { text: TEXT, ...(isEditable(grant.store) ? more : {}) },
      required: ['text'],
      additionalProperties: false,
    },
    run: (input, ctx: ProcedureContext) =>
      saveEntry({ grant, recalled, ctx: ctx as BuiltinProcedureContext }, input as Save),
  });
}

function memoryUpdate(grants: readonly Changeable[]): Tool {
  return defineTool({
    name: 'memory_update',
    description: 'Replaces the text of an entry that memory_search gave, where it is no longer right.',
    ...WRITING,
    input: {
      type: 'object',
      properties: { ...ENTRY, text: TEXT },
      required: ['id', 'version', 'text'],
      additionalProperties: false,
    },
    run: (input, ctx: ProcedureContext) =>
      updateEntry(grants, input as Save & WritableEntry, ctx as BuiltinProcedureContext),
  });
}

function memoryForget(grants: readonly Changeable[]): Tool {
  return defineTool({
    name: 'memory_forget',
    description: 'Removes an entry that memory_search gave, with all its versions, for good.',
    ...WRITING,
    input: { type: 'object', properties: ENTRY, required: ['id', 'version'], additionalProperties: false },
    run: (input, ctx: ProcedureContext) => forgetEntry(grants, input as WritableEntry, ctx as BuiltinProcedureContext),
  });
}
