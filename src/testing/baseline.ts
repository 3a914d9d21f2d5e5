import { readFileSync, writeFileSync } from 'node:fs';
import { ConfigurationError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';

/** Pass rates to compare with, as they are stored: by the name of the question. */
export interface Baseline {
  readonly cases: { readonly [name: string]: { readonly passRate: number; readonly repeats: number } };
}

/** Stores the pass rates of an evaluation, for the `baseline` of later ones. */
export function saveBaseline(
  evaluation: { readonly cases: readonly { name: string; passRate: number; repeats: number }[] },
  file: string,
): void {
  const cases = evaluation.cases.map(({ name, passRate, repeats }) => [name, { passRate, repeats }]);
  writeFileSync(file, `${JSON.stringify({ cases: Object.fromEntries(cases) }, null, 2)}\n`);
}

/** Undefined where there is no such file. */
export function readBaseline(file: string): Baseline | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
  const value: unknown = parsed(text);
  if (isPlainObject(value) && isPlainObject(value.cases)) return value as unknown as Baseline;
  throw new ConfigurationError('baseline', `${file} is no baseline`, 'Write it with saveBaseline(evaluation, file).');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
