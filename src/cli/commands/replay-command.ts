import { createInterface } from 'node:readline/promises';
import type { Agent } from '../../core/contract/agent.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import { replayRun } from '../../orchestration/entry/replay-run.ts';
import { readRun } from '../../orchestration/entry/resume-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { Terminal } from '../ask-approval.ts';
import { pointOf } from '../durable.ts';
import { errorText } from '../error-text.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { loadAgent } from '../load-module.ts';
import { failureLine, jsonLine, resultLine, resultText } from '../print-result.ts';
import { PROGRESS_EVENTS, type ProgressLine, progressLine } from '../progress-lines.ts';
import { briefs, showProgress } from '../show-progress.ts';
import { report } from '../visible.ts';

export interface ReplayCommandOptions {
  readonly until?: string;
  readonly step?: boolean;
  readonly journal?: string;
  readonly json?: boolean;
}

/** `cox replay`: plays a run again without a model or a tool. Ends with 0 where it came to what is recorded. */
export async function replayCommand(
  file: string,
  runId: string,
  words: readonly string[],
  command: ReplayCommandOptions,
): Promise<number> {
  checkStep(command);
  const { agent, options } = await loadAgent(file, words);
  const { store: journal } = await openJournal(command.journal, options.journal);
  try {
    const stored = await readRun(journal, runId);
    const { status, result: recorded } = stored;
    const until = command.until === undefined ? undefined : pointOf(command.until);
    if (until !== undefined) checkUntil(stored, until);
    const facts = briefs();
    const run: Run = replayRun(agent as Agent<unknown>, { journal, runId }, { until, views: [facts] });
    const result = command.step ? await frameByFrame(run, facts) : await showRun(run, facts, command.json === true);
    if (typeof result === 'number') return result;
    process.stdout.write(command.json ? resultLine(result) : resultText(result, agent, process.stdout.isTTY));
    const isComplete = until === undefined && status !== 'running';
    const differs = isComplete && (result.status !== status || result.text !== textOf(recorded));
    report(differs ? `the replay ended ${result.status}, the run had ended ${status}` : `replayed: ${result.status}`);
    return differs ? EXIT.failed : EXIT.done;
  } finally {
    journal.close();
  }
}

function checkStep({ step, json }: ReplayCommandOptions): void {
  if (step !== true) return;
  if (json) throw new ConfigurationError('--step', 'does not go with --json', 'Leave one of them out.');
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new ConfigurationError('--step', 'there is no terminal', 'Without one, leave it out or use --until.');
}

/** A wrong address must not look like a whole replay. */
function checkUntil({ id, rows }: StoredRun, until: ReturnType<typeof pointOf>): void {
  const isThere = rows.some(({ key, record }) =>
    'record' in until ? record === until.record : key === until.key || key.startsWith(`${until.key}/`),
  );
  if (isThere) return;
  const point = 'record' in until ? `record ${until.record}` : until.key;
  throw new ConfigurationError('--until', `run ${id} has no ${point}`, 'cox show <run> lists its addresses.');
}

async function showRun(run: Run, facts: ReturnType<typeof briefs>, json: boolean): Promise<RunResult | number> {
  const written = json ? writeEvents(run) : showProgress(run, facts);
  const result = await resultOf(run, json);
  await written;
  return result;
}

async function writeEvents(run: Run): Promise<void> {
  for await (const event of run) process.stdout.write(jsonLine(event));
}

async function frameByFrame(run: Run, facts: ReturnType<typeof briefs>): Promise<RunResult | number> {
  const frames: string[] = [];
  const add = ({ path, text }: ProgressLine) => frames.push(`${path}  ${text}`);
  for (const type of PROGRESS_EVENTS) {
    run.on(type, (event) => {
      const line = progressLine(event, facts);
      if (line !== undefined) add(line);
    });
  }
  const result = await resultOf(run, false);
  await stepThrough(frames, { input: process.stdin, output: process.stderr });
  return result;
}

async function resultOf(run: Run, json: boolean): Promise<RunResult | number> {
  try {
    return await run.result;
  } catch (thrown) {
    const { text, code } = errorText(thrown, Boolean(process.env.COX_DEBUG));
    if (json) process.stdout.write(failureLine(run.id, messageOf(thrown)));
    report(text);
    return code;
  }
}

function textOf(result: Json | undefined): unknown {
  return (result as { readonly text?: unknown } | undefined)?.text;
}

/** Shows frames one by one: Enter shows the next, `q` or the end of the input ends it. Gives how many were shown. */
export async function stepThrough(frames: readonly string[], { input, output }: Terminal): Promise<number> {
  const lines = createInterface({ input, output, terminal: false });
  const read = lines[Symbol.asyncIterator]();
  try {
    for (const [index, frame] of frames.entries()) {
      const isLast = index === frames.length - 1;
      output.write(`[${index + 1}/${frames.length}] ${frame}${isLast ? '\n' : ' '}`);
      if (isLast) break;
      const { done, value } = await read.next();
      if (done || /^q(uit)?$/i.test(value.trim())) return index + 1;
    }
    return frames.length;
  } finally {
    lines.close();
  }
}
