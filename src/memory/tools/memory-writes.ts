import type { MemoryStore } from '../../core/contract/memory.ts';
import type { BuiltinProcedureContext, ProcedureEffect } from '../../core/runtime/builtin-context.ts';
import { MemoryConflict, ToolError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { joinLabels, type Label } from '../../core/values/label.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import { asData, embedEffect, numbered, outcomeValue } from './memory-effects.ts';
import type { ResolvedGrant } from './memory-tools.ts';
import { type EditableStore, isEditable } from './propose-only.ts';
import type { Recalled } from './recalled.ts';

/** A namespace whose entries an agent may read and write. */
export interface Changeable {
  readonly store: EditableStore;
  readonly namespace: string;
}

export interface Save {
  readonly text: string;
  readonly kind?: string;
  readonly key?: string;
}
export interface WritableEntry {
  readonly id: string;
  readonly version: number;
}

/** Who saves where, and what it was shown from memory before. */
export interface Saving {
  readonly grant: Pick<ResolvedGrant, 'store' | 'namespace'>;
  readonly recalled: Recalled;
  readonly ctx: BuiltinProcedureContext;
  /** Default: the procedure's own. */
  readonly writer?: { readonly agent: string; readonly run: string };
}

/** Saves under the rights of a grant and the label of all that was seen; `index` counts the saves of one call. */
export async function saveEntry(saving: Saving, input: Save, index = 0): Promise<Json> {
  const { grant, recalled, ctx, writer = { agent: ctx.agent, run: ctx.runId } } = saving;
  const { store, namespace } = grant;
  if (recalled.has(input.text))
    return { saved: false, note: 'The memory has this already: it was recalled from there.' };
  const vector = isProposing(store)
    ? undefined
    : store.embedder && (await embedEffect(store.embedder, input.text, ctx, numbered('embed', index), DEFAULTS.retry));
  if (vector === 'failed') throw new ToolError('threw', 'the embedder did not answer, so nothing was saved');
  const own = isEditable(store) ? writer : {};
  const entry = { ...input, namespace, source: `${writer.agent}/${writer.run}`, label: ctx.label, ...own };
  const facts = { operation: 'create_memory', store: store.id, namespace };
  return write(ctx, numbered('save', index), facts, async (signal) => {
    const add = () => store.add(vector === undefined ? entry : { ...entry, vector }, signal);
    if (!isEditable(store)) return stored(await add());
    return orProposed(store, async () => stored(await add()), { operation: 'add', entry });
  });
}

/** Replaces an entry of the version that was read. */
export async function updateEntry(
  grants: readonly Changeable[],
  { id, version, text }: Save & WritableEntry,
  ctx: BuiltinProcedureContext,
): Promise<Json> {
  const writer = { source: `${ctx.agent}/${ctx.runId}`, agent: ctx.agent, run: ctx.runId };
  return write(ctx, 'update', { operation: 'update_memory', entry: id }, async (signal) => {
    const store = await storeOf(grants, id);
    const entry = await store.get(id);
    // Its metadata stays, and is no better than it was.
    const label = entry?.metadata === undefined ? ctx.label : joinLabels(ctx.label, entry.label);
    const change = { text, version, label, ...writer };
    return orProposed(store, async () => stored(await store.update(id, change, signal)), {
      operation: 'update',
      id,
      update: change,
    });
  });
}

/** Removes an entry of the version that was read. */
export async function forgetEntry(
  grants: readonly Changeable[],
  { id, version }: WritableEntry,
  ctx: BuiltinProcedureContext,
): Promise<Json> {
  const source = `${ctx.agent}/${ctx.runId}`;
  return write(ctx, 'forget', { operation: 'delete_memory', entry: id }, async () => {
    const store = await storeOf(grants, id);
    const entry = await store.get(id);
    // What is untrusted may propose that a trusted entry goes, no more.
    if (store.proposes || (entry?.label.integrity === 'trusted' && isUntrusted(ctx.label))) {
      await store.propose({ operation: 'remove', id, version, source });
      return { proposed: true };
    }
    await store.remove(id, { version });
    return { id, forgotten: true };
  });
}

/** The store whose grant covers the entry; an entry of another namespace is reported as unknown. */
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
    if (!(thrown instanceof MemoryConflict) || thrown.reason !== 'trust') throw thrown;
    await store.propose(proposal);
    return { proposed: true };
  }
}

async function write(
  ctx: BuiltinProcedureContext,
  id: string,
  facts: ProcedureEffect['facts'],
  execute: (signal: AbortSignal) => Promise<Json>,
): Promise<Json> {
  const outcome = await ctx.effect({
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

function stored({ id, version }: WritableEntry): Json {
  return { id, version };
}

function isProposing(store: MemoryStore): boolean {
  return isEditable(store) && store.proposes === true;
}

function isUntrusted(label: Label): boolean {
  return label.integrity === 'untrusted';
}
