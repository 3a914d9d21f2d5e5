import { join } from 'node:path';
import { type RunResult, resumeRun, runAgent } from 'coxswain';
import { expect, test } from 'vitest';
import { executions, type OnUnknown, voyage } from '../crash/voyage.ts';
import { folder, journal, killedAfter, type StoredRow } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';

/** What must be the same however often the run was killed. */
function essence({ status, text, messages, usage, steps, toolCalls, tree, byAgent, byModel }: RunResult<unknown>) {
  const plain = JSON.stringify({ text, messages }).replace(/0\.\d{6,}/g, 'n');
  return {
    status,
    said: JSON.parse(plain),
    usage,
    steps,
    toolCalls,
    tree: JSON.parse(JSON.stringify(tree)),
    byAgent,
    byModel,
  };
}

async function whole(onUnknown: OnUnknown) {
  const store = journal();
  const outside = join(folder(), 'outside');
  const { lead, model, options } = voyage(outside, onUnknown);
  const result = await runAgent(lead, 'Sail', { ...options, model, journal: store, runId: 'r1' });
  const rows = (await store.read('r1'))?.rows ?? [];
  return { rows, result, ran: executions(outside) };
}

/** Leaf calls whose start is there and whose outcome is not. */
function onUnknownOf(rows: readonly StoredRow[]): StoredRow[] {
  const ended = new Set(rows.filter(({ event }) => event !== 'started').map(({ kind, key }) => `${kind} ${key}`));
  return rows.filter(
    ({ kind, event, key, request }) =>
      kind === 'tool' && event === 'started' && 'given' in (request as object) && !ended.has(`${kind} ${key}`),
  );
}

test.each(['retry', 'fail', 'ask'] as const)(
  'killed after any record (in doubt: %s), a run comes to its end and does nothing twice',
  { timeout: 120_000 },
  async (mode) => {
    const { rows, result, ran } = await whole(mode);
    expect(result.status).toBe('completed');
    expect(new Set(ran.map(({ key }) => key)).size).toBe(ran.length);
    for (const count of someNumbers(1, rows.length, 12)) {
      const store = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
      const outside = join(folder(), 'outside');
      const { lead, model, options } = voyage(outside, mode);
      const resumed = await resumeRun(lead, 'r1', { ...options, model, journal: store }).result;
      const at = `after record ${count}: ${rows[count - 1]?.key}`;
      const doubted = onUnknownOf(rows.slice(0, count)).filter(({ request }) => {
        const { tool } = request as { tool: string };
        return ['send', 'stamp', 'publish'].includes(tool);
      });
      const again = executions(outside);
      expect(new Set(again.map(({ key }) => key)).size, at).toBe(again.length);
      const ended = rows
        .slice(0, count)
        .filter(({ kind, event, request }) => kind === 'tool' && event !== 'started' && request === undefined);
      const unknown = mode === 'fail' ? doubted.length : 0;
      expect(ended.length + again.length + unknown, at).toBe(ran.length);
      if (unknown === 0) expect(essence(resumed), at).toEqual(essence(result));
      else expect(JSON.stringify(resumed.messages) + resumed.text, at).toContain('whether it took effect is unknown');
      const { status, records } = (await store.list())[0] ?? {};
      expect(status, at).toBe('completed');
      const keys = (await store.read('r1'))?.rows.map(
        ({ kind, key, event, attempt }) => `${kind} ${key} ${event} ${attempt}`,
      );
      expect(new Set(keys).size, at).toBe(records);
      store.close();
    }
  },
);
