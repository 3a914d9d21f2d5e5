import { randomUUID } from 'node:crypto';
import type { RunResult } from '../core/ending.ts';
import { messageOf } from '../core/errors.ts';
import type { Run } from '../orchestration/run-handle.ts';
import type { RunOptions } from '../orchestration/run-options.ts';
import { startRun } from '../orchestration/start-run.ts';
import { askApproval } from './ask-approval.ts';
import { chooseModel } from './choose-model.ts';
import { errorText } from './error-text.ts';
import { EXIT, exitCode } from './exit-code.ts';
import { type Interrupt, onInterrupt } from './interrupt.ts';
import { loadModule, type Task } from './load-module.ts';
import { failureLine, jsonLine, resultLine, resultText, summary } from './print-result.ts';
import { type RunLog, runLog } from './run-log.ts';
import { briefs, showProgress } from './show-progress.ts';
import { type RunTrace, traceRun } from './trace-run.ts';
import { visibleLines } from './visible.ts';

export interface RunCommandOptions {
  /** Events and the result as NDJSON on stdout. */
  readonly json?: boolean;
  /** A file for the step log; false: none; true or absent: `.runs/<run id>.jsonl`. */
  readonly log?: string | boolean;
}

const DEBUG = Boolean(process.env.COX_DEBUG);

/** `cox run`: loads the module, runs its agent, shows progress on stderr and the result on stdout. Gives the exit code. */
export async function runCommand(file: string, words: readonly string[], options: RunCommandOptions): Promise<number> {
  const task = await loadModule(file, words);
  const model = chooseModel(task.agent, task.options);
  const runId = task.options.runId ?? randomUUID();
  const log = openLog(runId, options.log);
  const trace = task.options.instrument === undefined ? await traceRun() : undefined;
  if (trace?.problem !== undefined) tell(trace.problem);
  const seen = briefs();
  const began = performance.now();
  const run = startRun(task.agent as never, task.input as never, {
    ...ownOptions(task, log, trace, seen),
    ...model,
    runId,
  }) as Run;
  const interrupt = onInterrupt(
    () => void run.cancel(undefined, 'interrupted by Ctrl-C'),
    () => tell('interrupted: the run is being stopped; Ctrl-C again ends it at once'),
  );
  stopWithReader(run);
  const shown = options.json === true ? writeEvents(run) : showProgress(run, seen);
  const code = await ended(run, task, options, interrupt, began, shown);
  if (trace !== undefined) await sendSpans(trace);
  return tellLog(log, typeof options.log === 'string') && code === EXIT.done ? EXIT.failed : code;
}

/** The module's own options, with the log, the spans and a person at the terminal beside them. */
function ownOptions(
  { options }: Task,
  log: RunLog | undefined,
  trace: RunTrace | undefined,
  seen: ReturnType<typeof briefs>,
): RunOptions {
  const { approve, onIdle, instrument, views = [], onObserverError } = options;
  const person = approve === undefined && onIdle === undefined && process.stdin.isTTY && process.stderr.isTTY;
  return {
    ...options,
    views: [...views, seen, ...(log === undefined ? [] : [log.view])],
    instrument: instrument ?? trace?.instrument,
    approve: person ? askApproval({ input: process.stdin, output: process.stderr }) : approve,
    onObserverError(error) {
      if (onObserverError === undefined) tell(`an observer of the run failed: ${messageOf(error)}`);
      else onObserverError(error);
    },
  };
}

/** Prints what the run gave, and says how it ended. */
async function ended(
  run: Run,
  { agent }: Task,
  { json }: RunCommandOptions,
  interrupt: Interrupt,
  began: number,
  shown: Promise<void> | void,
): Promise<number> {
  let result: RunResult;
  try {
    result = await run.result;
    await shown;
    interrupt.over();
  } catch (thrown) {
    await shown;
    const { text, code } = errorText(thrown, DEBUG);
    if (json === true) process.stdout.write(failureLine(run.id, messageOf(thrown)));
    tell(text);
    return code;
  }
  process.stdout.write(json === true ? resultLine(result) : resultText(result, agent, process.stdout.isTTY));
  process.stderr.write(summary(result, performance.now() - began));
  return exitCode(result.status, interrupt.pressed());
}

/** The result is out already, so a collector that takes its time is said to. */
async function sendSpans(trace: RunTrace): Promise<void> {
  const note = setTimeout(() => tell('sending the last spans; Ctrl-C ends that'), 1_000);
  await trace.shutdown().catch((thrown) => tell(messageOf(thrown)));
  clearTimeout(note);
}

async function writeEvents(run: Run): Promise<void> {
  for await (const event of run) process.stdout.write(jsonLine(event));
}

function openLog(runId: string, wanted: string | boolean | undefined): RunLog | undefined {
  if (wanted === false) return undefined;
  const log = runLog(runId, typeof wanted === 'string' ? wanted : undefined);
  if (typeof log !== 'string') return log;
  tell(log);
  return undefined;
}

/** Says where the log is. True where a log that was asked for by name was lost. */
function tellLog(log: RunLog | undefined, asked: boolean): boolean {
  if (log === undefined) return false;
  const lost = log.lost();
  tell(lost ?? `log: ${log.file}`);
  return lost !== undefined && asked;
}

/** Nobody reads the result any more (`cox run … | head`): the run need not go on. */
function stopWithReader(run: Run): void {
  process.stdout.on('error', () => void run.cancel(undefined, 'stdout was closed'));
}

function tell(text: string): void {
  process.stderr.write(`${visibleLines(text)}\n`);
}
