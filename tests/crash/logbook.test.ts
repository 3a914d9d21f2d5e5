import { join } from 'node:path';
import { type RunResult, replayRun } from 'coxswain';
import { workingSummaries } from 'coxswain/memory';
import { sqlite } from 'coxswain/sqlite';
import { expect, test } from 'vitest';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';
import { bundledProgram } from './bundled-program.ts';
import { doneOutside, logbook } from './logbook.ts';
import { oneLife } from './one-life.ts';

/** How many runs are killed, spread over all record boundaries; `CRASH_KILLS=1000 npm run test:crash` takes every one. */
const KILLED_RUNS = Number(process.env.CRASH_KILLS ?? tries(24, 8));
const LANES = 2;

const { folder, program } = bundledProgram('logbook-program.ts');

const places = (name: string) => ({
  file: join(folder, `${name}.db`),
  outside: join(folder, `${name}.outside`),
  conversations: join(folder, `${name}.conversations`),
});
type Case = ReturnType<typeof places>;

/** One life of the process; true where it was killed. */
function live({ file, outside, conversations }: Case, records?: number): Promise<boolean> {
  const env = {
    ...{ JOURNAL: file, OUTSIDE: outside, CONVERSATIONS: conversations },
    ...(records !== undefined && { KILL_RECORDS: String(records) }),
  };
  return oneLife(program, env);
}

async function wholeOf({ file, outside, conversations }: Case) {
  const store = sqlite(file);
  const run = await store.read('r1');
  store.close();
  const summaries = workingSummaries({ file: conversations });
  const saved = await summaries.load('log', new AbortController().signal);
  summaries.close();
  const result = run?.result as unknown as RunResult | undefined;
  return { rows: run?.rows ?? [], saved, result, outside: doneOutside(outside) };
}

/** By address and how often: what a record says that it has happened. */
const outcomes = ({ rows }: Awaited<ReturnType<typeof wholeOf>>) =>
  rows.flatMap(({ kind, key, event }) =>
    event === 'done' && /@(summary|window|conversation|beforeTool|onEnd)/.test(key) ? [`${kind} ${key}`] : [],
  );

test(`killed at its record boundaries, a run has each summary, hook and conversation once (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const random = seeded(SEED);
  const calm = places('calm');
  expect(await live(calm)).toBe(false);
  const whole = await wholeOf(calm);
  expect(whole.result?.status).toBe('completed');
  expect(outcomes(whole).filter((one) => one.includes('@summary')).length).toBeGreaterThan(3);
  const boundaries = whole.rows.length - 1;
  const kills = Math.min(KILLED_RUNS, boundaries);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < kills; index = next++) {
      const at = places(String(index));
      const boundary = 1 + Math.floor(((index + random.next()) * boundaries) / kills);
      const lives = random.below(3) === 0 ? [boundary, 1 + random.below(20)] : [boundary];
      for (const records of lives) if (!(await live(at, records))) break;
      const wreck = await wholeOf(at);
      await live(at);
      await check(at, wreck, whole, `seed ${SEED}, run ${index}, killed after ${lives.join(' and again after ')}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
});

async function check(
  at: Case,
  wreck: Awaited<ReturnType<typeof wholeOf>>,
  calm: Awaited<ReturnType<typeof wholeOf>>,
  which: string,
): Promise<void> {
  const end = await wholeOf(at);
  const facts = ({ status, text, messages, usage, steps }: RunResult) => ({ status, text, messages, usage, steps });
  if (end.result === undefined || calm.result === undefined) throw new Error(`${which}: no end`);
  expect(facts(end.result), which).toEqual(facts(calm.result));
  expect(outcomes(end).toSorted(), which).toEqual(outcomes(calm).toSorted());
  expect(end.saved, which).toEqual(calm.saved);
  // What had its outcome on record at the kill was not done again.
  const after = end.outside.slice(wreck.outside.length);
  for (const one of outcomes(wreck)) {
    const [, address = '', name = ''] = /^\S+ (.*)\/@(beforeTool|onEnd)$/.exec(one) ?? [];
    if (name !== '') expect(after, `${which}: ${one}`).not.toContain(`${name} ${address}`);
  }
  const { lead } = logbook(at.outside, at.conversations);
  const store = sqlite(at.file);
  const replayed = await replayRun(lead, { journal: store, runId: 'r1' }).result;
  store.close();
  expect(replayed.text).toBe(calm.result.text);
  expect(doneOutside(at.outside), 'a replay calls nobody').toEqual(end.outside);
}
