import type { RunRecord, View } from '../../core/contract/record.ts';
import { checkOneOf, checkOptions, checkPositive, checkText } from '../../core/values/options.ts';
import { ExitRedaction } from '../../security/redaction/exit-redaction.ts';
import type { Redaction } from '../../security/redaction/redaction.ts';
import { appender } from './append.ts';
import type { Content } from './content.ts';
import { InvocationLog } from './invocation-log.ts';
import { lineText, type StepLine } from './line.ts';
import { LineSpans } from './line-spans.ts';

export type { Content } from './content.ts';
export type { LineEffect, LineModelIn, LineSpan, StepLine } from './line.ts';

/** What {@link jsonlLog} takes beside the file. */
export interface LogOptions {
  /** Default `none`: names, counts, sizes and hashes only. `full` replays. Secrets are redacted in each. */
  readonly content?: Content | undefined;
  /** When the file has this many bytes, it becomes `<file>.1` and a new, self-contained file begins. Default: the file grows without a bound. */
  readonly maxBytes?: number | undefined;
  /** Old files that are kept, with `maxBytes`. Default 5. */
  readonly keep?: number | undefined;
  /** What else is redacted, beside secrets of known forms and fields that a tool's schema marks. */
  readonly redaction?: Redaction | undefined;
}

/** What is open of one run: the lines of its invocations by path, and its spans. */
interface RunLines {
  readonly paths: Map<string, InvocationLog>;
  readonly spans: LineSpans;
}

/**
 * The step log: one start and one end line a step, as a view of a run's records. `file`'s folder must exist, else a
 * ConfigurationError; the file is made readable by its owner only, and appended to. `flush` rejects where the file
 * could not be written; the run hands that to `onObserverError`.
 *
 * @example startRun(agent, input, { views: [jsonlLog('run.jsonl', { content: 'full' })] })
 */
export function jsonlLog(file: string, options: LogOptions = {}): View {
  checkText('jsonlLog.file', file, "Name the file: jsonlLog('run.jsonl').");
  checkOptions('jsonlLog', options, ['content', 'redaction', 'maxBytes', 'keep']);
  checkOneOf('jsonlLog.content', options.content, ['none', 'redacted', 'full']);
  checkPositive('jsonlLog.maxBytes', options.maxBytes);
  checkPositive('jsonlLog.keep', options.keep);
  const { content = 'none', maxBytes = Number.POSITIVE_INFINITY, keep = 5 } = options;
  const out = appender(file);
  const runs = new Map<string, RunLines>();
  const clean = new ExitRedaction(options.redaction);
  const write = (line: StepLine) => out.write(lineText(line, clean));

  function rotate(): void {
    out.rotate(Math.ceil(keep));
    for (const { paths, spans } of runs.values()) {
      spans.restate();
      for (const invocation of paths.values()) invocation.restate();
    }
  }

  function view(record: RunRecord): void {
    if (out.size() >= maxBytes) rotate();
    if (record.kind === 'model' && record.event === 'started') clean.note(record.request.tools);
    const lines = runs.get(record.run) ?? { paths: new Map(), spans: new LineSpans() };
    runs.set(record.run, lines);
    const { paths, spans } = lines;
    if (record.kind === 'run') {
      spans.started(record);
      if (record.event === 'started') return;
      paths.get(record.node.path)?.noteEnd(spans.ended(record));
      for (const invocation of paths.values()) invocation.finish(record, record.value.status);
      runs.delete(record.run);
      return;
    }
    const { path } = record.node;
    const begins = record.kind === 'agent' && record.event === 'started';
    const invocation = (begins ? undefined : paths.get(path)) ?? new InvocationLog(content, spans, write);
    paths.set(path, invocation);
    invocation.take(record);
    if (record.kind === 'agent' && record.event === 'done' && path.includes('/')) paths.delete(path);
  }

  return Object.assign(view, {
    flush() {
      for (const { paths } of runs.values()) for (const invocation of paths.values()) invocation.release();
      return out.flush();
    },
  });
}
