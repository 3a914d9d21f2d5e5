import { existsSync } from 'node:fs';
import type { Agent } from '../core/contract/agent.ts';
import type { RunResult } from '../core/contract/result.ts';
import { messageOf } from '../core/values/errors.ts';
import { isFinal } from '../core/values/status.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';
import { askApproval } from './ask-approval.ts';
import { type Durable, parkedLines } from './durable.ts';
import { errorText } from './error-text.ts';
import { EXIT, exitCode } from './exit-code.ts';
import { type Interrupt, onInterrupt } from './interrupt.ts';
import { ownPermissions } from './own-permissions.ts';
import { failureLine, jsonLine, resultLine, resultText, summary } from './print-result.ts';
import { type RunLog, runLog } from './run-log.ts';
import { briefs, showProgress } from './show-progress.ts';
import { tell } from './tell.ts';
import { type RunTrace, traceRun } from './trace-run.ts';

/** What `run`, `resume` and `fork` have in common. */
export interface RunCommandOptions {
  /** Events and the result as NDJSON on stdout. */
  readonly json?: boolean;
  /** A file for the step log; false: none; true or absent: `.runs/<run id>.jsonl`. */
  readonly log?: string | boolean;
  /** The journal's file. */
  readonly journal?: string;
}

/** A run that a command starts or goes on with. */
export interface Drive {
  readonly agent: Agent;
  /** The module's. */
  readonly options: RunOptions;
  readonly runId: string;
  /** Where it is kept, if it is: then Ctrl-C leaves it so that it can go on. */
  readonly durable: Durable | undefined;
  readonly command: RunCommandOptions;
  start(options: RunOptions): Run;
}

const DEBUG = Boolean(process.env.COX_DEBUG);

/** Shows a run's progress on stderr and its result on stdout, with its log and its spans. Gives the exit code. */
export async function driveRun(drive: Drive): Promise<number> {
  const { options, runId, durable, command } = drive;
  const log = openLog(runId, command.log);
  const trace = options.instrument === undefined ? await traceRun() : undefined;
  if (trace?.problem !== undefined) tell(trace.problem);
  const seen = briefs();
  const began = performance.now();
  const abort = new AbortController();
  const signals = [abort.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const own = ownOptions(options, log, trace, seen);
  const start = () => drive.start(durable === undefined ? own : { ...own, signal: AbortSignal.any(signals) });
  const run = trace === undefined ? start() : trace.within(start);
  // A run that can go on is left as aborted: cancelled would be its end.
  const stop = (reason: string) => void (durable === undefined ? run.cancel(undefined, reason) : abort.abort());
  const interrupt = onInterrupt(
    () => stop('interrupted by Ctrl-C'),
    () => tell('interrupted: the run is being stopped; Ctrl-C again ends it at once'),
  );
  // Nobody reads the result any more (`cox run … | head`): the run need not go on.
  process.stdout.on('error', () => stop('stdout was closed'));
  const shown = command.json === true ? writeEvents(run) : showProgress(run, seen);
  const code = await ended(run, drive, interrupt, began, shown);
  await saidToTake(run.settled, 'what the run leaves to memory goes on');
  if (trace !== undefined) await sendSpans(trace);
  return tellLog(log, typeof command.log === 'string') && code === EXIT.done ? EXIT.failed : code;
}

/** The module's own options, with the log, the spans and a person at the terminal beside them. */
function ownOptions(
  options: RunOptions,
  log: RunLog | undefined,
  trace: RunTrace | undefined,
  seen: ReturnType<typeof briefs>,
): RunOptions {
  const { approve, onIdle, instrument, views = [], onObserverError } = options;
  const person = approve === undefined && onIdle === undefined && process.stdin.isTTY && process.stderr.isTTY;
  return {
    ...options,
    permissions: ownPermissions(options.permissions),
    views: [...views, seen, ...(log === undefined ? [] : [log.view])],
    instrument: instrument ?? trace?.instrument,
    approve: person ? askApproval({ input: process.stdin, output: process.stderr }) : approve,
    onObserverError(error) {
      if (onObserverError === undefined) tell(`an observer of the run failed: ${messageOf(error)}`);
      else onObserverError(error);
    },
  };
}

/** Prints what the run gave, and says how it ended and how it goes on. */
async function ended(
  run: Run,
  { agent, runId, command: { json }, durable }: Drive,
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
  for (const line of parkedLines(result, durable)) tell(line);
  if (result.runId !== runId) tell(`the code has changed: run ${runId} went on in its fork ${result.runId}`);
  if (durable !== undefined && !isFinal(result.status)) tell(`to go on: ${durable.resume(result.runId)}`);
  return exitCode(result.status, interrupt.pressed());
}

async function sendSpans(trace: RunTrace): Promise<void> {
  await saidToTake(trace.shutdown(), 'sending the last spans').catch((thrown) => tell(messageOf(thrown)));
}

/** The result is out already, so what takes its time after it is said to. */
async function saidToTake(work: Promise<void>, what: string): Promise<void> {
  const note = setTimeout(() => tell(`${what}; Ctrl-C ends that`), 1_000);
  await work.finally(() => clearTimeout(note));
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

/** Says where the log is, if anything was written. True where a log that was asked for by name was lost. */
function tellLog(log: RunLog | undefined, asked: boolean): boolean {
  if (log === undefined) return false;
  const lost = log.lost();
  if (lost !== undefined) tell(lost);
  else if (existsSync(log.file)) tell(`log: ${log.file}`);
  return lost !== undefined && asked;
}
