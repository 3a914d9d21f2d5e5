import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '../core/contract/agent.ts';
import type { RunPermissions } from '../core/contract/permission.ts';
import type { RunResult } from '../core/contract/result.ts';
import { messageOf } from '../core/values/errors.ts';
import { isFinal } from '../core/values/status.ts';
import type { Environment } from '../models/from-env.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';
import { askApproval } from './ask-approval.ts';
import { type Durable, parkedLines } from './durable.ts';
import { errorText } from './error-text.ts';
import { EXIT, exitCode } from './exit-code.ts';
import { type Interrupt, onInterrupt } from './interrupt.ts';
import { failureLine, jsonLine, resultLine, resultText, summary } from './print-result.ts';
import { type RunStepLog, runLog } from './run-log.ts';
import { briefs, showProgress } from './show-progress.ts';
import { type RunTrace, traceRun } from './trace-run.ts';
import { report } from './visible.ts';

/** What `run`, `resume` and `fork` have in common. */
export interface RunCommandOptions {
  /** Events and the result as NDJSON on stdout. */
  readonly json?: boolean;
  /** A file for the step log; false: none; true or absent: `.runs/<run id>.jsonl`. */
  readonly log?: string | boolean;
  /** The journal's file. */
  readonly journal?: string;
}

/** A run that a command starts or resumes. */
export interface Drive {
  readonly agent: Agent;
  /** The module's. */
  readonly options: RunOptions;
  readonly runId: string;
  /** Its journal, if it has one: then Ctrl-C leaves it resumable. */
  readonly durable: Durable | undefined;
  readonly command: RunCommandOptions;
  start(options: RunOptions): Run;
}

const DEBUG = Boolean(process.env.COX_DEBUG);

/** Shows a run's progress on stderr and its result on stdout, with its log and its spans. Returns the exit code. */
export async function driveRun(drive: Drive): Promise<number> {
  const { options, runId, durable, command } = drive;
  const log = openLog(runId, command.log);
  const trace = options.instrument === undefined ? await traceRun() : undefined;
  if (trace?.problem !== undefined) report(trace.problem);
  const facts = briefs();
  const began = performance.now();
  const abort = new AbortController();
  const signals = [abort.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const own = ownOptions(options, log, trace, facts);
  const start = () => drive.start(durable === undefined ? own : { ...own, signal: AbortSignal.any(signals) });
  const run = trace === undefined ? start() : trace.within(start);
  // A durable run is aborted, so that it can be resumed; `cancelled` would be final.
  const stop = (reason: string) => void (durable === undefined ? run.cancel(undefined, reason) : abort.abort());
  const interrupt = onInterrupt(
    () => stop('interrupted by Ctrl-C'),
    () => report('interrupted: the run is being stopped; Ctrl-C again ends it at once'),
  );
  // Without a reader of stdout (`cox run … | head`) the run is stopped.
  process.stdout.on('error', () => stop('stdout was closed'));
  const progress = command.json === true ? writeEvents(run) : showProgress(run, facts);
  const code = await finishRun(run, drive, interrupt, began, progress);
  await noteIfSlow(run.settled, 'memory work of the run continues');
  if (trace !== undefined) await sendSpans(trace);
  return reportLog(log, typeof command.log === 'string') && code === EXIT.done ? EXIT.failed : code;
}

/** The module's options with the log, the spans and a person at the terminal added. */
function ownOptions(
  options: RunOptions,
  log: RunStepLog | undefined,
  trace: RunTrace | undefined,
  facts: ReturnType<typeof briefs>,
): RunOptions {
  const { approve, onIdle, instrument, views = [], onObserverError } = options;
  const person = approve === undefined && onIdle === undefined && process.stdin.isTTY && process.stderr.isTTY;
  return {
    ...options,
    permissions: ownPermissions(options.permissions),
    views: [...views, facts, ...(log === undefined ? [] : [log.view])],
    instrument: instrument ?? trace?.instrument,
    approve: person ? askApproval({ input: process.stdin, output: process.stderr }) : approve,
    onObserverError(error) {
      if (onObserverError === undefined) report(`an observer of the run failed: ${messageOf(error)}`);
      else onObserverError(error);
    },
  };
}

/** Prints the result of the run, its status, and the command that resumes it. */
async function finishRun(
  run: Run,
  { agent, runId, command: { json }, durable }: Drive,
  interrupt: Interrupt,
  began: number,
  progress: Promise<void> | void,
): Promise<number> {
  let result: RunResult;
  try {
    result = await run.result;
    await progress;
    interrupt.over();
  } catch (thrown) {
    await progress;
    const { text, code } = errorText(thrown, DEBUG);
    if (json === true) process.stdout.write(failureLine(run.id, messageOf(thrown)));
    report(text);
    return code;
  }
  process.stdout.write(json === true ? resultLine(result) : resultText(result, agent, process.stdout.isTTY));
  process.stderr.write(summary(result, performance.now() - began));
  for (const line of parkedLines(result, durable)) report(line);
  if (result.runId !== runId) report(`the code has changed: run ${runId} continues in its fork ${result.runId}`);
  if (durable !== undefined && !isFinal(result.status)) report(`to resume: ${durable.resume(result.runId)}`);
  return exitCode(result.status, interrupt.pressed());
}

async function sendSpans(trace: RunTrace): Promise<void> {
  await noteIfSlow(trace.shutdown(), 'sending the last spans').catch((thrown) => report(messageOf(thrown)));
}

/** The result is printed already, so work that takes longer than a second is announced. */
async function noteIfSlow(work: Promise<void>, what: string): Promise<void> {
  const note = setTimeout(() => report(`${what}; Ctrl-C ends that`), 1_000);
  await work.finally(() => clearTimeout(note));
}

async function writeEvents(run: Run): Promise<void> {
  for await (const event of run) process.stdout.write(jsonLine(event));
}

function openLog(runId: string, wanted: string | boolean | undefined): RunStepLog | undefined {
  if (wanted === false) return undefined;
  const log = runLog(runId, typeof wanted === 'string' ? wanted : undefined);
  if (typeof log !== 'string') return log;
  report(log);
  return undefined;
}

/** Reports the path of the log, if anything was written. True if a log that the user named was lost. */
function reportLog(log: RunStepLog | undefined, isRequired: boolean): boolean {
  if (log === undefined) return false;
  const lost = log.lost();
  if (lost !== undefined) report(lost);
  else if (existsSync(log.file)) report(`log: ${log.file}`);
  return lost !== undefined && isRequired;
}

const NAME = 'coxswain.json';

/** The permissions of a module, with the files of the project (the current folder) and of the user, unless the module names its own files. */
export function ownPermissions(given: RunPermissions | undefined, env: Environment = process.env): RunPermissions {
  const config = env.XDG_CONFIG_HOME?.trim() || join(homedir(), '.config');
  return { ...given, files: given?.files ?? { project: NAME, user: join(config, 'coxswain', NAME) } };
}
