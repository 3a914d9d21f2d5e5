import { readFileSync, writeFileSync } from 'node:fs';
import type { Agent } from '../core/contract/agent.ts';
import type { RunResult } from '../core/contract/result.ts';
import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import type { Model } from '../core/values/model.ts';
import { checkWhole } from '../core/values/options.ts';
import { addSpending, costUsd, NOTHING_SPENT, type Spending, toPicoUsd } from '../core/values/spending.ts';
import type { Status } from '../core/values/status.ts';
import type { Usage } from '../core/values/usage.ts';
import { startRun } from '../orchestration/entry/start-run.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';
import { checkCases } from './check-cases.ts';
import { type ActualCall, type CallRules, type ExpectedCall, matchCalls } from './match-calls.ts';

/** One question with what is expected of the answer. */
export interface EvaluationCase<Input = unknown, Output = unknown> extends CallRules {
  /** Names the question in results and baselines. */
  readonly name: string;
  readonly input: Input;
  /** Calls of the whole tree that should be made, delegations among them. */
  readonly calls?: readonly ExpectedCall[] | undefined;
  /** Default `completed`. */
  readonly status?: Status | undefined;
  /** Whether the answer is right: false, a text with the problem, or a throw is a failure. */
  readonly check?: ((result: RunResult<Output>) => unknown) | undefined;
}

/** With the options of a run; `runId` would be the same for all. */
export interface EvaluateOptions<Deps = unknown> extends Omit<RunOptions<Deps>, 'model' | 'runId'> {
  /** How often each case is run; default 1. */
  readonly repeats?: number | undefined;
  /** Runs at once; default 1. */
  readonly parallel?: number | undefined;
  /** A file of `saveBaseline`, or its content. A missing file counts as no baseline. */
  readonly baseline?: string | Baseline | undefined;
  /** A model for all runs, or one made for each: scripts are used up. */
  readonly model?: Model | ((name: string, repeat: number) => Model) | undefined;
}

/** The options are required only if the agent needs `deps`. */
type OptionsArgument<Deps> = unknown extends Deps
  ? [options?: EvaluateOptions<Deps>]
  : [options: EvaluateOptions<Deps> & { readonly deps: Deps }];

/** How one question went. */
export interface CaseResult {
  readonly name: string;
  readonly repeats: number;
  readonly passed: number;
  /** 0 … 1. */
  readonly passRate: number;
  /** The pass rate of the baseline, where it has this question. */
  readonly baseline?: number;
  /** Why runs failed; `repeat` counts from 1. */
  readonly failures: readonly {
    readonly repeat: number;
    readonly runId: string;
    readonly reasons: readonly string[];
  }[];
  readonly usage: Usage;
  readonly costUsd?: number;
}

export interface Evaluation {
  readonly cases: readonly CaseResult[];
  /** Of all runs. */
  readonly passRate: number;
  /** Questions that passed less often than in the baseline. */
  readonly worse: readonly string[];
  readonly usage: Usage;
  readonly costUsd?: number;
}

/**
 * Runs an agent on fixed inputs and counts how often each gave the expected status, calls and answer. Takes all options of a run too;
 * each run has its own budget. Rejects only if a run does.
 *
 * @example
 * const { cases, worse } = await evaluate(agent, [
 *   { name: 'capital', input: 'Capital of France?', calls: [{ name: 'search', args: { query: /france/i } }], check: ({ text }) => text.includes('Paris') },
 * ], { model, repeats: 5, baseline: 'evaluation.json' });
 */
export async function evaluate<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  cases: readonly EvaluationCase<Input, Output>[],
  ...[options]: OptionsArgument<Deps>
): Promise<Evaluation> {
  const { repeats = 1, parallel = 1, baseline, model, ...run } = (options ?? {}) as EvaluateOptions<Deps>;
  checkWhole('repeats', repeats, 1);
  checkWhole('parallel', parallel, 1);
  checkCases(cases);
  const before = typeof baseline === 'string' ? readBaseline(baseline) : baseline;
  const jobs = cases.flatMap((one) => Array.from({ length: repeats }, (_, index) => ({ one, repeat: index + 1 })));
  const played = new Map<unknown, Played[]>(cases.map((one) => [one, []]));
  const queue = jobs.values();
  const work = async () => {
    for (const { one, repeat } of queue) {
      const chosen = typeof model === 'function' ? model(one.name, repeat) : model;
      const settings = chosen === undefined ? run : { ...run, model: chosen };
      played.get(one)?.push(await play(agent as Agent, one as EvaluationCase, repeat, settings as RunOptions));
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return summary(cases, played, before);
}

interface Played {
  readonly repeat: number;
  readonly runId: string;
  readonly reasons: readonly string[];
  readonly spending: Spending;
}

async function play(agent: Agent, one: EvaluationCase, repeat: number, options: RunOptions): Promise<Played> {
  const run = startRun(agent, one.input as never, options as never);
  const made: ActualCall[] = [];
  run.on('tool.start', ({ name, args, agent }) => made.push({ name, args, agent }));
  const result = await run.result;
  const reasons = [
    ...wrongStatus(one.status ?? 'completed', result),
    ...matchCalls(one.calls ?? [], made, one),
    ...(await wrongAnswer(one, result)),
  ];
  return { repeat, runId: result.runId, reasons, spending: spendingOf(result) };
}

function wrongStatus(expected: Status, result: RunResult): string[] {
  if (result.status === expected) return [];
  const cause = 'error' in result ? ` (${result.error.message})` : '';
  return [`status: expected ${expected}, got ${result.status}${cause}`];
}

async function wrongAnswer({ check }: EvaluationCase, result: RunResult): Promise<string[]> {
  if (check === undefined) return [];
  try {
    const answer = await check(result);
    if (answer === false) return ['the check said false'];
    return typeof answer === 'string' ? [answer] : [];
  } catch (thrown) {
    return [messageOf(thrown)];
  }
}

function spendingOf({ usage, costUsd }: RunResult): Spending {
  const unpriced = costUsd === undefined ? usage.modelCalls : 0;
  return { usage, picoUsd: costUsd === undefined ? 0 : toPicoUsd(costUsd), unpriced };
}

function summary(
  cases: readonly { readonly name: string }[],
  played: ReadonlyMap<unknown, readonly Played[]>,
  before: Baseline | undefined,
): Evaluation {
  const results = cases.map((one): CaseResult => {
    const runs = [...(played.get(one) ?? [])].sort((a, b) => a.repeat - b.repeat);
    const passed = runs.filter(({ reasons }) => reasons.length === 0).length;
    const baseline = before?.cases[one.name]?.passRate;
    return {
      name: one.name,
      repeats: runs.length,
      passed,
      passRate: passed / runs.length,
      ...(baseline === undefined ? {} : { baseline }),
      failures: runs.flatMap(({ repeat, runId, reasons }) =>
        reasons.length === 0 ? [] : [{ repeat, runId, reasons }],
      ),
      ...spent(runs),
    };
  });
  const all = [...played.values()].flat();
  return {
    cases: results,
    passRate: all.filter(({ reasons }) => reasons.length === 0).length / all.length,
    worse: results.flatMap(({ name, passRate, baseline }) => (passRate < (baseline ?? 0) ? [name] : [])),
    ...spent(all),
  };
}

function spent(runs: readonly Played[]): { usage: Usage; costUsd?: number } {
  const sum = runs.reduce((total, { spending }) => addSpending(total, spending) ?? total, NOTHING_SPENT);
  const cost = costUsd(sum);
  return { usage: sum.usage, ...(cost === undefined ? {} : { costUsd: cost }) };
}

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
function readBaseline(file: string): Baseline | undefined {
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
