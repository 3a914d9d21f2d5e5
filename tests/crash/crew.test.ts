import { join } from 'node:path';
import { type RunResult, steerRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { expect, test } from 'vitest';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';
import { pairing } from '../support/turns.ts';
import { bundledProgram } from './bundled-program.ts';
import { crew, ONCE } from './crew.ts';
import { oneLife } from './one-life.ts';

/** How many runs are killed, each again and again until it ends: the short form takes few; `CRASH_KILLS=1000` takes a third of that. */
const RUNS = process.env.CRASH_KILLS === undefined ? tries(6, 3) : Math.ceil(Number(process.env.CRASH_KILLS) / 3);

/** The lead, and who takes over from it. */
const OVER = /^lead(\/5\.0\/closer)?$/;

const { folder, program } = bundledProgram('crew-program.ts');

/** One life of the process; true where it was killed. */
function live(file: string, outside: string, killRecords: number): Promise<boolean> {
  const env = { JOURNAL: file, OUTSIDE: outside, KILL_RECORDS: String(killRecords) };
  return oneLife(program, env);
}

test(`killed again and again, a crew tells everything once (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const random = seeded(SEED);
  let kills = 0;
  for (let index = 0; index < RUNS; index += 1) {
    const file = join(folder, `${index}.db`);
    const outside = join(folder, `${index}.outside`);
    const at = `seed ${SEED}, run ${index}`;
    // Told once, after the first or second life: by another process, while nobody runs it.
    const steerAfter = random.below(2);
    let lives = 0;
    let wasSteered = false;
    while (await live(file, outside, 5 + random.below(60))) {
      if (lives === steerAfter) {
        const store = sqlite(file);
        // Too late where the last of its answers is recorded: it is refused.
        const { rows = [] } = (await store.read('r1')) ?? {};
        wasSteered = !rows.some(({ kind, key, event }) => kind === 'agent' && event === 'done' && OVER.test(key));
        const steered = steerRun('r1', 'lead', 'be quick', { journal: store });
        await (wasSteered ? steered : expect(steered).rejects.toThrow('has ended: completed'));
        store.close();
      }
      lives += 1;
      expect(lives, at).toBeLessThan(60);
    }
    kills += lives;
    const store = sqlite(file);
    const stored = await store.read('r1');
    store.close();
    const result = stored?.result as unknown as RunResult<unknown>;
    expect(result.status, at).toBe('completed');
    expect(JSON.parse(result.text), at).toEqual({ ...ONCE, steer: wasSteered ? 1 : 0 });
    expect(pairing(result.messages), at).toBe('ok');
    const ran = crew(outside).ran();
    const sent = ran.filter(({ tool }) => tool === 'send').length;
    const isUnknown = /whether it took effect is unknown/.test(JSON.stringify(result.messages));
    expect(sent, at).toBeLessThan(2);
    expect(sent === 1 || isUnknown, at).toBe(true);
  }
  expect(kills).toBeGreaterThan(RUNS);
  console.log(`${RUNS} runs, ${kills} kills`);
});
