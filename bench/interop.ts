/**
 * The cost of an integration: a worker called from another system, beside the same call of that system's own tool, written by hand.
 * `npm run bench:interop [name]`. Calls alternate; figures are medians of one run. Each file of bench/interop is an integration.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { ANSWER, type Integration } from './integration.ts';
import { digits } from './report.ts';

const WARM_UP = 300;
const PAIRS = 1_500;

const only = process.argv[2];
const files = globSync('interop/*.ts', { cwd: import.meta.dirname }).sort();
console.log(`node ${process.version}, ${PAIRS} pairs of calls each, milliseconds`);
console.log(
  `${'integration'.padEnd(18)}${['own p50', 'ours p50', 'own p95', 'ours p95', 'overhead', 'ratio'].map((name) => name.padStart(11)).join('')}`,
);
let missed = 0;
for (const file of files) {
  const { integration } = (await import(join(import.meta.dirname, file))) as { integration: Integration };
  if (only !== undefined && integration.name !== only) continue;
  if (!(await measure(integration))) missed += 1;
}
console.log(missed === 0 ? 'every goal is met' : `${missed} goals are missed`);
// Open servers may keep the process alive.
process.exit(0);

async function measure({ name, goal, prepare }: Integration): Promise<boolean> {
  const { ours, own, close } = await prepare();
  for (const call of [own, ours]) {
    const gave = await call();
    if (gave !== ANSWER) throw new Error(`${name} gave ${String(gave)}`);
  }
  const times = { ours: [] as number[], own: [] as number[] };
  for (let round = 0; round < WARM_UP + PAIRS; round += 1) {
    // Neither always runs in the other's wake.
    const order = round % 2 === 0 ? (['own', 'ours'] as const) : (['ours', 'own'] as const);
    for (const which of order) {
      const since = performance.now();
      await (which === 'ours' ? ours : own)();
      if (round >= WARM_UP) times[which].push(performance.now() - since);
    }
  }
  await close?.();
  const at = (which: 'ours' | 'own', share: number) => quantile(times[which], share);
  const overhead = at('ours', 0.5) - at('own', 0.5);
  const ratio = at('ours', 0.5) / at('own', 0.5);
  const isMet = 'ratio' in goal ? ratio <= goal.ratio : overhead <= goal.overheadMs;
  const figures = [at('own', 0.5), at('ours', 0.5), at('own', 0.95), at('ours', 0.95), overhead, ratio];
  const wanted = 'ratio' in goal ? `ratio ≤ ${goal.ratio}` : `overhead ≤ ${goal.overheadMs} ms`;
  console.log(
    `${name.padEnd(18)}${figures.map((figure) => digits(figure).padStart(11)).join('')}   ${isMet ? 'met' : 'MISSED'}: ${wanted}`,
  );
  return isMet;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
