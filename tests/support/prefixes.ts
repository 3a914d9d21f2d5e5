import { type Agent, type RecordStore, type RunOptions, type RunResult, resumeRun, startRun } from 'coxswain';
import { expect } from 'vitest';
import { journal, killedAfter, type StoredRow } from './journals.ts';
import { someNumbers } from './tries.ts';

type Root = Agent<string, unknown, unknown>;

/** What must be the same however often a run was killed; call ids are made anew in each life. */
export function essence({ status, text, messages, usage, steps, toolCalls, tree, byAgent }: RunResult<unknown>) {
  const said = JSON.stringify({ text, messages, tree, byAgent })
    .replace(/"c\d+"/g, '"c"')
    .replace(/\\"c\d+\\"/g, '"c"');
  return { status, said: JSON.parse(said), usage, steps, toolCalls };
}

/** Runs an agent whole, and resumes it from prefixes of its records, each of them in the long form: all must come to the same end. */
export async function fromEachPrefix(
  agent: Root,
  life: () => RunOptions,
  {
    as = (store) => store,
    from = () => 2,
    check = () => {},
  }: {
    readonly as?: (store: RecordStore) => RecordStore;
    /** The first prefix, by its length. */
    readonly from?: (rows: readonly StoredRow[]) => number;
    readonly check?: (at: string) => void;
  } = {},
): Promise<{ readonly whole: RunResult<unknown>; readonly rows: readonly StoredRow[] }> {
  const store = journal();
  const whole = await startRun(agent, 'go', { ...life(), journal: as(store), runId: 'r1' }).result;
  const rows = (await store.read('r1'))?.rows ?? [];
  for (const count of someNumbers(from(rows), rows.length, 8)) {
    const half = await killedAfter(rows, count, { id: 'r1', agent: agent.name });
    const at = `after record ${count}: ${rows[count - 1]?.kind} ${rows[count - 1]?.key} ${rows[count - 1]?.event}`;
    const run = resumeRun(agent, 'r1', { ...life(), journal: as(half) });
    const diverged: unknown[] = [];
    run.on('run.diverged', ({ key, parts }) => void diverged.push([key, parts]));
    expect(essence(await run.result), at).toEqual(essence(whole));
    expect(diverged, at).toEqual([]);
    const keys = (await half.read('r1'))?.rows.map(
      ({ kind, key, event, attempt }) => `${kind} ${key} ${event} ${attempt}`,
    );
    expect(new Set(keys).size, at).toBe(keys?.length);
    check(at);
    half.close();
  }
  return { whole, rows };
}
