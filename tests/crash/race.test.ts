import { join } from 'node:path';
import { type RunResult, resumeRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { expect, test } from 'vitest';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';
import { bundledProgram } from './bundled-program.ts';
import { checkRace } from './check-race.ts';
import { oneLife } from './one-life.ts';
import { doneOutside, regatta } from './race.ts';

/** How many runs are killed, spread over all record boundaries; `CRASH_KILLS=1000 npm run test:crash` takes every one. */
const KILLED_RUNS = Number(process.env.CRASH_KILLS ?? tries(24, 8));
const LANES = 2;

const { folder, program } = bundledProgram('race-program.ts');

interface Case {
  readonly file: string;
  readonly outside: string;
}

/** One life of the process; true where it was killed. */
function live({ file, outside }: Case, records: number | undefined): Promise<boolean> {
  const env = { JOURNAL: file, OUTSIDE: outside, ...(records && { KILL_RECORDS: String(records) }) };
  return oneLife(program, env);
}

async function recordsOf({ file, outside }: Case) {
  const store = sqlite(file);
  const stored = await store.read('r1');
  store.close();
  return { rows: stored?.rows ?? [], outside: doneOutside(outside), result: stored?.result };
}

test(`killed at its record boundaries, a decided race stays decided (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const random = seeded(SEED);
  const calm = { file: join(folder, 'calm.db'), outside: join(folder, 'calm.outside') };
  expect(await live(calm, undefined)).toBe(false);
  const whole = await recordsOf(calm);
  const result = whole.result as unknown as RunResult<unknown>;
  const boundaries = whole.rows.length - 1;
  const kills = Math.min(KILLED_RUNS, boundaries);
  let next = 0;
  let decided = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < kills; index = next++) {
      const at = { file: join(folder, `${index}.db`), outside: join(folder, `${index}.outside`) };
      const boundary = 1 + Math.floor(((index + random.next()) * boundaries) / kills);
      // Every third is killed again while it is resumed.
      const lives = random.below(3) === 0 ? [boundary, 1 + random.below(20)] : [boundary];
      for (const records of lives) if (!(await live(at, records))) break;
      const wreck = await recordsOf(at);
      decided += wreck.rows.filter(({ key }) => key.includes('/@fanout')).length;
      const store = sqlite(at.file);
      const { lead, model, options } = regatta(at.outside);
      const resumed = await resumeRun(lead, 'r1', { ...options, model, journal: store }).result;
      store.close();
      try {
        checkRace(wreck, await recordsOf(at), resumed, result);
      } catch (cause) {
        throw new Error(`seed ${SEED}, run ${index}, killed after ${lives.join(' and again after ')}`, { cause });
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  console.log(`seed ${SEED}: ${kills} runs killed, ${decided} decisions were on record`);
  expect(decided).toBeGreaterThan(0);
});
