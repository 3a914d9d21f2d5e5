import { defineTool } from '../core/define-tool.ts';
import { MemoryConflict, ToolError } from '../core/errors.ts';
import type { BuiltinFlow, Flow, FlowEffect } from '../core/flow.ts';
import type { Json } from '../core/json.ts';
import type { Label } from '../core/label.ts';
import { DEFAULTS } from '../core/limits.ts';
import type { MemorySelect, MemoryStore } from '../core/memory.ts';
import type { Tool } from '../core/tool.ts';
import { asData, embedEffect, outcomeValue } from './memory-effects.ts';
import { memorySearch } from './memory-search.ts';
import { type EditableStore, isEditable } from './propose-only.ts';
import { Recalled } from './recalled.ts';

/** A grant whose functions and defaults were decided. */
export interface ResolvedGrant {
  readonly store: MemoryStore;
  readonly namespace: string;
  readonly read: boolean;
  readonly write: boolean;
  readonly select?: MemorySelect | undefined;
}

/**
 * What an agent gets of its grants: `memory_search` over all that it may read; `memory_save` into the first that it may write;
 * `memory_update` and `memory_forget` for entries of those that it may read and write, where their store can do that.
 * Namespaces and rights are the grants', never the model's. Each embedding, search and write is an effect of its own.
 */
export function memoryTools(grants: readonly ResolvedGrant[]): Tool[] {
  // One a call, and so one an invocation.
  const recalled = new Recalled();
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

interface Changeable {
  readonly store: EditableStore;
  readonly namespace: string;
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
    run: (input, flow: Flow) => save(grant, recalled, input as Save, flow as BuiltinFlow),
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
    run: (input, flow: Flow) => update(grants, input as Save & Entry, flow as BuiltinFlow),
  });
}

function memoryForget(grants: readonly Changeable[]): Tool {
  return defineTool({
    name: 'memory_forget',
    description: 'Removes an entry that memory_search gave, with all its versions, for good.',
    ...WRITING,
    input: { type: 'object', properties: ENTRY, required: ['id', 'version'], additionalProperties: false },
    run: (input, flow: Flow) => forget(grants, input as Entry, flow as BuiltinFlow),
  });
}

interface Save {
  readonly text: string;
  readonly kind?: string;
  readonly key?: string;
}
interface Entry {
  readonly id: string;
  readonly version: number;
}

async function save(grant: ResolvedGrant, recalled: Recalled, input: Save, flow: BuiltinFlow): Promise<Json> {
  const { store, namespace } = grant;
  if (recalled.has(input.text))
    return { saved: false, note: 'The memory has this already: it was recalled from there.' };
  const vector = isProposing(store)
    ? undefined
    : store.embedder && (await embedEffect(store.embedder, input.text, flow, 'embed'));
  if (vector === 'failed') throw new ToolError('threw', 'the embedder did not answer, so nothing was saved');
  const writer = { source: `${flow.agent}/${flow.runId}`, label: flow.label };
  const own = isEditable(store) ? { agent: flow.agent, run: flow.runId } : {};
  const entry = { ...input, namespace, ...writer, ...own };
  return write(flow, 'save', { operation: 'create_memory', store: store.id, namespace }, async (signal) => {
    const add = () => store.add(vector === undefined ? entry : { ...entry, vector }, signal);
    if (!isEditable(store)) return stored(await add());
    return orProposed(store, async () => stored(await add()), { operation: 'add', entry });
  });
}

async function update(
  grants: readonly Changeable[],
  { id, version, text }: Save & Entry,
  flow: BuiltinFlow,
): Promise<Json> {
  const change = {
    text,
    version,
    source: `${flow.agent}/${flow.runId}`,
    label: flow.label,
    agent: flow.agent,
    run: flow.runId,
  };
  return write(flow, 'update', { operation: 'update_memory', entry: id }, async (signal) => {
    const store = await storeOf(grants, id);
    return orProposed(store, async () => stored(await store.update(id, change, signal)), {
      operation: 'update',
      id,
      update: change,
    });
  });
}

async function forget(grants: readonly Changeable[], { id, version }: Entry, flow: BuiltinFlow): Promise<Json> {
  const source = `${flow.agent}/${flow.runId}`;
  return write(flow, 'forget', { operation: 'delete_memory', entry: id }, async () => {
    const store = await storeOf(grants, id);
    const entry = await store.get(id);
    // What is untrusted may propose that a trusted entry goes, no more.
    if (!store.proposes && entry?.label.integrity === 'trusted' && isUntrusted(flow.label)) {
      await store.propose({ operation: 'remove', id, version, source });
      return { proposed: true };
    }
    await store.remove(id, { version });
    return store.proposes ? { proposed: true } : { forgotten: true };
  });
}

/** The store whose grant covers the entry; an entry elsewhere is as unknown as one that is nowhere. */
async function storeOf(grants: readonly Changeable[], id: string): Promise<EditableStore> {
  for (const { store, namespace } of grants) if ((await store.get(id))?.namespace === namespace) return store;
  throw new ToolError('threw', 'there is no such entry: search for it again');
}

/** A change that trust forbids waits for a reviewer instead. */
async function orProposed(
  store: EditableStore,
  work: () => Promise<Json>,
  proposal: Parameters<EditableStore['propose']>[0],
): Promise<Json> {
  try {
    return store.proposes ? { ...((await work()) as { readonly id: string }), proposed: true } : await work();
  } catch (thrown) {
    if (!(thrown instanceof MemoryConflict) || !/is trusted/.test(thrown.message)) throw thrown;
    await store.propose(proposal);
    return { proposed: true };
  }
}

async function write(
  flow: BuiltinFlow,
  id: string,
  facts: FlowEffect['facts'],
  execute: (signal: AbortSignal) => Promise<Json>,
): Promise<Json> {
  const outcome = await flow.effect({
    id,
    kind: 'memory',
    facts,
    sideEffect: 'unsafe',
    timeoutMs: DEFAULTS.toolTimeoutMs,
    execute: (signal) => asData(() => execute(signal)),
  });
  const value = outcomeValue(outcome) as { readonly [name: string]: Json };
  if (value.proposed === true) return { proposed: true, note: 'It waits for a reviewer.' };
  return value.forgotten === true ? { forgotten: true } : { saved: true };
}

function stored({ id, version }: Entry): Json {
  return { id, version };
}

function isProposing(store: MemoryStore): boolean {
  return isEditable(store) && store.proposes === true;
}

function isUntrusted(label: Label): boolean {
  return label.integrity === 'untrusted';
}
