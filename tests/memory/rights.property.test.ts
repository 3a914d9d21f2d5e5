import { longTermMemory, proposeOnly } from 'coxswain/memory';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BuiltinProcedureContext, ProcedureEffect } from '../../src/core/runtime/builtin-context.ts';
import type { Outcome } from '../../src/core/runtime/journal.ts';
import { messageOf } from '../../src/core/values/errors.ts';
import { joinLabels, type Label, TRUSTED, UNTRUSTED } from '../../src/core/values/label.ts';
import { memoryTools } from '../../src/memory/tools/memory-tools.ts';

/** Names that a careless comparison takes for one another. */
const NAMESPACES = ['team', 'Team', 'tеam', 'user/a', 'user/ab', 'user/%', 'user/_'];
const PRIVATE: Label = { integrity: 'trusted', confidentiality: 'private', origins: ['crm'] };
const LABELS = [TRUSTED, UNTRUSTED, PRIVATE];

const grants = fc.array(
  fc.record({
    namespace: fc.constantFrom(...NAMESPACES),
    read: fc.boolean(),
    write: fc.boolean(),
    proposes: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3 },
);
const step = fc.oneof(
  fc.record({ do: fc.constant('save' as const), label: fc.constantFrom(...LABELS) }),
  fc.record({ do: fc.constant('search' as const), label: fc.constantFrom(...LABELS) }),
  fc.record({
    do: fc.constantFrom('update' as const, 'forget' as const),
    label: fc.constantFrom(...LABELS),
    entry: fc.nat(),
    stale: fc.boolean(),
  }),
);

interface Entry {
  readonly id: string;
  readonly namespace: string;
  text: string;
  label: Label;
  version: number;
}

/** What is done by whom, of a flow. */
function flowOf(label: Label) {
  const flow = {
    agent: 'clerk',
    runId: 'run-1',
    label,
    joined: TRUSTED as Label,
    join(other: Label) {
      flow.joined = joinLabels(flow.joined, other);
    },
    async effect(effect: ProcedureEffect): Promise<Outcome> {
      try {
        return { ok: true, value: await effect.execute(AbortSignal.timeout(5_000)) };
      } catch (thrown) {
        return { ok: false, error: { kind: 'threw', message: messageOf(thrown), retryable: false } };
      }
    },
  };
  return flow;
}

it('an agent reads, writes, changes and proposes what its grants say, and nothing else, whatever it asks for', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...NAMESPACES), fc.constantFrom(...LABELS)), { maxLength: 8 }),
      grants,
      fc.array(step, { maxLength: 12 }),
      async (before, given, steps) => {
        const notes = longTermMemory({ file: ':memory:' });
        const propose = proposeOnly(notes);
        const held: Entry[] = [];
        /** What each waiting change is for; undefined for a new entry. */
        let proposed: (string | undefined)[] = [];
        let count = 0;
        const next = () => {
          count += 1;
          return `note number ${count}`;
        };
        for (const [namespace, label] of before) {
          const { id, text } = await notes.add({ text: next(), namespace, source: 'before', label });
          held.push({ id, namespace, text, label, version: 1 });
        }
        const resolved = given.map(({ proposes, ...grant }) => ({ ...grant, store: proposes ? propose : notes }));
        const tools = memoryTools(resolved);
        const call = async (name: string, args: object, flow: object) => {
          const tool = tools.find((one) => one.name === name);
          if (tool === undefined) return 'no tool' as const;
          if (tool.type !== 'procedure') throw new Error('no procedure');
          return tool.run(args as never, flow as BuiltinProcedureContext<never>).then(
            (value) => value as { readonly [key: string]: unknown },
            () => 'refused' as const,
          );
        };
        for (const one of steps) {
          const flow = flowOf(one.label);
          if (one.do === 'search') {
            const result = await call('memory_search', { query: 'note number', topK: 20 }, flow);
            const readable = new Set(given.filter(({ read }) => read).map(({ namespace }) => namespace));
            if (readable.size === 0) expect(result).toBe('no tool');
            else {
              const expected = held.filter(({ namespace }) => readable.has(namespace));
              const { hits } = result as { hits: { text: string }[] };
              expect(hits.map(({ text }) => text).sort()).toEqual(expected.map(({ text }) => text).sort());
              for (const { label } of expected) expect(joinLabels(flow.joined, label)).toBe(flow.joined);
            }
          } else if (one.do === 'save') {
            const text = next();
            const result = await call('memory_save', { text }, flow);
            const target = given.find(({ write }) => write);
            if (target === undefined) expect(result).toBe('no tool');
            else if (target.proposes) proposed.push(undefined);
            else {
              expect(result).toEqual({ saved: true });
              const [entry] = await notes.list({ namespace: target.namespace, limit: 1 });
              held.push({ id: entry?.id ?? '', namespace: target.namespace, text, label: one.label, version: 1 });
            }
          } else {
            const entry = held[one.entry % Math.max(1, held.length)];
            const target = given.find(({ namespace, read, write }) => read && write && namespace === entry?.namespace);
            const text = next();
            const asked = { id: entry?.id ?? 'none', version: (entry?.version ?? 1) + (one.stale ? 1 : 0) };
            const result =
              one.do === 'update'
                ? await call('memory_update', { ...asked, text }, flow)
                : await call('memory_forget', asked, flow);
            const changes = given.some(({ read, write }) => read && write);
            const mayNot = entry?.label.integrity === 'trusted' && one.label.integrity === 'untrusted';
            if (!changes) expect(result).toBe('no tool');
            else if (entry === undefined || target === undefined) expect(result).toBe('refused');
            else if (target.proposes) proposed.push(entry.id);
            // Only the entry itself knows which version it has; who may only propose is told by the reviewer.
            else if (one.stale && !(mayNot && one.do === 'forget')) expect(result).toBe('refused');
            else if (mayNot) {
              expect(result).toMatchObject({ proposed: true });
              proposed.push(entry.id);
            } else if (one.do === 'forget') {
              held.splice(held.indexOf(entry), 1);
              // What waits for an entry goes with it.
              proposed = proposed.filter((id) => id !== entry.id);
            } else Object.assign(entry, { text, label: one.label, version: entry.version + 1 });
          }
        }
        for (const namespace of NAMESPACES) {
          const list = await notes.list({ namespace, limit: 1_000 });
          const shown = list.map(({ id, text, label, version }) => ({ id, text, label, version }));
          const expected = held.filter((entry) => entry.namespace === namespace);
          const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
          expect(shown.sort(byId)).toEqual(
            expected.map(({ id, text, label, version }) => ({ id, text, label, version })).sort(byId),
          );
        }
        const waiting = await Promise.all(NAMESPACES.map((namespace) => notes.proposals(namespace)));
        expect(waiting.flat()).toHaveLength(proposed.length);
        await notes.close();
      },
    ),
    { numRuns: 150 },
  );
});
