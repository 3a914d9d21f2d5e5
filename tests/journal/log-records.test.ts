import { join } from 'node:path';
import { defineAgent, defineTool, runAgent } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readRows, type TypedRow } from '../../src/journal/read-row.ts';
import { loggedRun } from '../../src/orchestration/entry/logged-run.ts';
import { folder, journal } from '../support/journals.ts';
import { text, turn } from '../support/turns.ts';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: z.object({ n: z.number() }),
  access: 'read',
  execute: ({ n }) => {
    if (n === 2) throw new Error('gone');
    return { seen: n };
  },
});
const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [look] });
const lead = defineAgent({
  name: 'lead',
  description: 'code',
  input: z.object({ task: z.string() }),
  run: async (input, ctx) => {
    const token = await ctx.once('token', () => ({ drawn: 7 }));
    await ctx.sleep(1);
    const said = await ctx.call(worker, input.task);
    await ctx.tool(look, { n: 2 }).catch(() => undefined);
    return { token, said, seen: await ctx.tool(look, { n: 3 }) };
  },
});

/** Kinds whose outcome a step log with full content holds as a journal does. */
const SAME: ReadonlySet<string> = new Set(['model', 'tool', 'once', 'sleep', 'limit']);

test('the outcomes that a step log holds have the forms and the values of the journal’s', async () => {
  const file = join(folder(), 'run.jsonl');
  const store = journal();
  const model = scriptedModel({
    worker: [turn(['look', { n: 1 }], ['look', { n: 2 }]), turn(['look', { m: 1 }], ['nothing', {}]), text('end')],
  });
  const views = [jsonlLog(file, { content: 'full' })];
  expect((await runAgent(lead, { task: 'Go' }, { model, journal: store, runId: 'r', views })).status).toBe('completed');
  const recorded = endsOf(readRows((await store.read('r'))?.rows ?? []));
  const logged = endsOf(readRows(loggedRun(file).rows));
  expect([...logged.keys()].sort()).toEqual([...recorded.keys()].sort());
  for (const [id, row] of logged) expect(plain(row), id).toEqual(plain(recorded.get(id) ?? row));
  const kinds = [...logged.values()].map(({ kind, event }) => `${kind} ${event}`);
  expect(new Set(kinds)).toEqual(new Set(['model done', 'tool done', 'tool failed', 'once done', 'sleep done']));
});

function endsOf(rows: readonly TypedRow[]): Map<string, TypedRow> {
  const ends = rows.filter(({ kind, event }) => SAME.has(kind) && (event === 'done' || event === 'failed'));
  return new Map(ends.map((row) => [`${row.kind} ${row.key}`, row]));
}

/** A log has no hash of what a refused call gave, and of a call of a model no more than its text. */
function plain({ key, kind, event, value }: TypedRow): unknown {
  if (kind !== 'tool' || value === undefined) return { kind, event, value };
  const isOfModel = /\/\d+\.\d+$/.test(key);
  if ('isError' in value) return { kind, event, value: { ...value, content: undefined } };
  return { kind, event, value: 'form' in value && isOfModel ? { ...value, form: undefined } : value };
}
