import type { CaseName, Figures } from './cases.ts';
import { IDEAL_MS } from './inside-one-run.ts';

/** Everything that was measured. */
export interface Measured {
  /** CPU µs per unit. */
  readonly cases: { readonly [name in CaseName]: Figures };
  /** ns per earlier message, once. */
  readonly made: Figures;
  readonly earlier: Figures;
  readonly growth: { readonly early: number; readonly late: number };
  readonly heaps: Figures;
  readonly imports: Figures;
  readonly walls: Figures;
}

/** A goal of the project and what was reached. Lower is better everywhere. */
export interface Goal {
  readonly title: string;
  readonly figure: number;
  readonly goal: number;
  readonly unit: string;
  /** What to profile when it is missed: a case's CPU, where the heap was allocated, what an import does. */
  readonly profiled?: CaseName | 'import' | 'heap';
}

const OURS = 'coxswain';

export function goals({ cases, made, earlier, growth, heaps, imports, walls }: Measured): Goal[] {
  const perStep = (['steps50', 'steps200', 'team', 'historyMade', 'historyEarlier'] as const).flatMap((name) => [
    { title: `${name}: × floor`, figure: ratio(cases[name], 'floor'), goal: 3, unit: '×', profiled: name },
    { title: `${name}: × AI SDK`, figure: ratio(cases[name], 'AI SDK'), goal: 0.1, unit: '×', profiled: name },
  ]);
  const { calls100, calls1000 } = cases;
  const overIdeal = of(walls, OURS) / IDEAL_MS;
  return [
    ...perStep,
    { title: 'step 200 ÷ step 5', figure: growth.late / growth.early, goal: 1.1, unit: '×', profiled: 'steps200' },
    { title: 'per earlier message, hand-made', figure: of(made, OURS), goal: 15, unit: 'ns', profiled: 'oneMade' },
    {
      title: 'per earlier message, of a result',
      figure: of(earlier, OURS),
      goal: 15,
      unit: 'ns',
      profiled: 'oneEarlier',
    },
    { title: 'per parallel call, 100', figure: of(calls100, OURS), goal: 5, unit: 'µs', profiled: 'calls100' },
    { title: 'per parallel call, 1,000', figure: of(calls1000, OURS), goal: 5, unit: 'µs', profiled: 'calls1000' },
    {
      title: 'per call, 1,000 ÷ 100',
      figure: of(calls1000, OURS) / of(calls100, OURS),
      goal: 1.2,
      unit: '×',
      profiled: 'calls1000',
    },
    { title: 'heap per parked run', figure: of(heaps, OURS), goal: 5, unit: 'KB', profiled: 'heap' },
    {
      title: 'import over a bare node (packed)',
      figure: of(imports, 'packed') - of(imports, 'node'),
      goal: 10,
      unit: 'ms',
      profiled: 'import',
    },
    { title: '32 workers at 50 ms, limit 8: wall ÷ ideal', figure: overIdeal, goal: 1.05, unit: '×' },
  ];
}

/** What is measured elsewhere: it needs a provider on the network. */
export const NOT_MEASURED = ['over HTTP, streamed and whole: npm run bench:http'];

export function isMet({ figure, goal }: Goal): boolean {
  return figure <= goal;
}

function of(figures: Figures, name: string): number {
  return figures.get(name) ?? Number.NaN;
}

function ratio(figures: Figures, name: string): number {
  return of(figures, OURS) / of(figures, name);
}
