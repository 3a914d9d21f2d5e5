import { CASES, type Figures } from './cases.ts';
import { importCosts, parkedCosts } from './children.ts';
import { contenderNamed } from './contenders/index.ts';
import { type Goal, isMet, NOT_MEASURED } from './goals.ts';
import { type Cost, profile } from './profile.ts';

const TITLE = 36;
const UNIT = 12;
const COLUMN = 10;
const PROFILE_MS = 400;
const COSTS = 3;

export function printHead(names: readonly string[]): void {
  const machine = `node ${process.version}, CPU of all threads, medians of interleaved rounds`;
  console.log(`${machine}\n\n${''.padEnd(TITLE + UNIT)}${names.map((name) => name.padStart(COLUMN)).join('')}`);
}

/** One figure per contender, in their order; others (a bare node) with their names. */
export function printRow(title: string, unit: string, figures: Figures): void {
  const named = figures.has('node');
  const columns = [...figures].map(([name, value]) =>
    named ? `  ${name} ${digits(value)}` : digits(value).padStart(COLUMN),
  );
  console.log(`${title.padEnd(TITLE)}${unit.padEnd(UNIT)}${columns.join('')}`);
}

/** A goal that is missed comes with the three functions that cost most. */
export async function printGoal(goal: Goal): Promise<void> {
  const word = isMet(goal) ? 'met   ' : 'MISSED';
  const figure = `${digits(goal.figure)} ${goal.unit}`;
  console.log(`${word}  ${goal.title.padEnd(44)}${figure.padStart(12)}   goal ≤ ${goal.goal} ${goal.unit}`);
  if (!isMet(goal) && goal.profiled !== undefined) await printCostsOf(goal.profiled);
}

export function printNotMeasured(): void {
  for (const goal of NOT_MEASURED) console.log(`not measured here  ${goal}`);
}

type Profiled = NonNullable<Goal['profiled']>;
const profiled = new Set<Profiled>();

async function printCostsOf(name: Profiled): Promise<void> {
  if (profiled.has(name)) return;
  profiled.add(name);
  printCosts(await costs(name));
}

export function printCosts(all: readonly Cost[]): void {
  for (const { node, share } of all) console.log(`          ${(share * 100).toFixed(1).padStart(5)} %  ${node}`);
}

async function costs(name: Profiled): Promise<Cost[]> {
  if (name === 'heap') return parkedCosts(COSTS);
  if (name === 'import') return importCosts(COSTS);
  const { run } = await CASES[name].prepare(await contenderNamed('coxswain'));
  return profile(run, PROFILE_MS, COSTS);
}

export function digits(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}
