import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { StepLine } from '../../telemetry/log/log.ts';
import { stepLine } from '../../telemetry/log/step-line.ts';
import { stepLines } from '../../telemetry/log/step-lines.ts';
import { EXIT } from '../exit-code.ts';
import { logLine } from '../log-line.ts';
import { LOG_FOLDER } from '../run-log.ts';
import { tailFile } from '../tail-file.ts';

export interface LogCommandOptions {
  readonly follow?: boolean;
  /** The run, if the log has several. */
  readonly run?: string;
  readonly last?: string;
  readonly json?: boolean;
}

/** `cox log`: the lines of a step log, with `--follow` as they are written. */
export async function logCommand(source: string | undefined, options: LogCommandOptions): Promise<number> {
  const { file, run } = logFile(source);
  const of = options.run ?? run;
  const last = options.last === undefined ? undefined : countOf(options.last);
  const show = (line: StepLine) => {
    if (of !== undefined && line.runId !== of) return;
    process.stdout.write(options.json ? `${JSON.stringify(line)}\n` : `${logLine(line)}\n`);
  };
  if (options.follow) return follow(file, show, of);
  let lines: StepLine[] = [];
  for await (const line of stepLines(file)) {
    if (last === undefined) show(line);
    else if (of === undefined || line.runId === of) lines = [...lines, line].slice(-last);
  }
  for (const line of lines) show(line);
  return EXIT.done;
}

/** Ends with the run, where it follows one; else with Ctrl-C. */
async function follow(file: string, show: (line: StepLine) => void, run: string | undefined): Promise<number> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once('SIGINT', stop);
  // Its reader has closed: `cox log -f | head`.
  process.stdout.on('error', stop);
  for await (const text of tailFile(file, abort.signal)) {
    const line = stepLine(text);
    if (line === undefined) continue;
    show(line);
    if (run !== undefined && line.runId === run && isLast(line)) return EXIT.done;
  }
  return EXIT.interrupted;
}

/** The root's last line: the run's own span ends with it. */
function isLast({ spans = [] }: StepLine): boolean {
  return spans.some(({ kind, end }) => kind === 'run' && end !== undefined);
}

/** A file, the log of a run, or the newest one that `cox run` wrote. */
function logFile(source: string | undefined): { readonly file: string; readonly run?: string } {
  if (source !== undefined && isFile(source)) return { file: source };
  if (source !== undefined) {
    const own = join(LOG_FOLDER, `${source.replaceAll(':', '_')}.jsonl`);
    if (isFile(own)) return { file: own, run: source };
    throw new ConfigurationError(
      'run|file',
      `there is no log ${source}`,
      `Name a file, or a run whose log is in ${LOG_FOLDER}/.`,
    );
  }
  const [newest] = logs().sort((a, b) => b.at - a.at);
  if (newest === undefined)
    throw new ConfigurationError(
      'run|file',
      `there is no log in ${LOG_FOLDER}/`,
      'Name a file, or start a run with cox run.',
    );
  return { file: newest.file };
}

function logs(): { readonly file: string; readonly at: number }[] {
  if (statSync(LOG_FOLDER, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(LOG_FOLDER)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(LOG_FOLDER, name))
    .map((file) => ({ file, at: statSync(file).mtimeMs }));
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new ConfigurationError('--last', `got ${JSON.stringify(text)}`, 'Give a whole number > 0.');
}
