import { statSync, writeFileSync } from 'node:fs';
import type { RunRecord } from '../../core/contract/record.ts';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import { rebuiltRecords } from '../../journal/rebuilt-records.ts';
import { readRun } from '../../orchestration/entry/resume-run.ts';
import { loggedRecords } from '../../telemetry/log/logged-records.ts';
import { rebuildSpans, sendSpans, spansJson } from '../../telemetry/otel/rebuild-spans.ts';
import { loadTraceSdk, otlpExporter, signalUrl } from '../../telemetry/otel/sdk.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { runState } from '../run-state.ts';
import { report, visible } from '../visible.ts';

export interface TraceExportOptions {
  readonly journal?: string;
  readonly run?: string;
  readonly endpoint?: string;
  readonly out?: string;
  readonly service?: string;
  readonly servicePerAgent?: boolean;
  readonly content?: boolean;
  readonly transfer?: boolean;
  readonly json?: boolean;
}

/** Records of one run. */
interface Source {
  readonly run: string;
  readonly records: readonly RunRecord[];
  /** Its process is alive. */
  readonly isLive: boolean;
}

/** `cox trace export`: spans from the records of a run, or from a step log. */
export async function traceExportCommand(source: string, options: TraceExportOptions): Promise<number> {
  if (options.out !== undefined && options.endpoint !== undefined)
    throw new ConfigurationError('--out', 'does not go with --endpoint', 'Leave one of them out.');
  const { endpoint } = options;
  const url = endpoint === undefined ? undefined : signalUrl(endpoint, 'traces', '--endpoint');
  const runs = isFile(source) ? await loggedRecords(source, options.run) : [await fromJournal(source, options)];
  const sdk = await loadTraceSdk('cox trace export');
  const { content, transfer = false, servicePerAgent = false } = options;
  const serviceName = options.service ?? (process.env.OTEL_SERVICE_NAME?.trim() || 'coxswain');
  const how = { sdk, serviceName, servicePerAgent, transfer, content: content ? 'full' : 'none' } as const;
  const spans = runs.flatMap(({ records, isLive }) => rebuildSpans(records, { ...how, isLive }));
  if (options.out === undefined) await sendSpans(spans, otlpExporter(sdk, url, 1));
  else await write(options.out, spans);
  reportSpans(runs, spans, options);
  return EXIT.done;
}

function isFile(source: string): boolean {
  return statSync(source, { throwIfNoEntry: false })?.isFile() === true;
}

async function fromJournal(run: string, { journal }: TraceExportOptions): Promise<Source> {
  const { store } = await openJournal(journal);
  try {
    const stored = await readRun(store, run);
    return { run, records: rebuiltRecords(stored), isLive: runState(stored, Date.now()) === 'running' };
  } finally {
    store.close();
  }
}

async function write(file: string, spans: ReturnType<typeof rebuildSpans>): Promise<void> {
  const text = `${await spansJson(spans)}\n`;
  if (file === '-') {
    process.stdout.write(text);
    return;
  }
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch (thrown) {
    throw new ConfigurationError('--out', `${file} cannot be written (${messageOf(thrown)})`, 'Name another file.');
  }
}

function reportSpans(
  runs: readonly Source[],
  spans: ReturnType<typeof rebuildSpans>,
  { json, out }: TraceExportOptions,
): void {
  const traces = [...new Set(spans.map((span) => span.spanContext().traceId))];
  if (json && out !== '-')
    process.stdout.write(jsonLine({ runs: runs.map(({ run }) => run), spans: spans.length, traces }));
  report(`${spans.length} spans in ${traces.length === 1 ? 'trace' : `${traces.length} traces:`} ${traces.join(', ')}`);
  for (const { run, isLive } of runs) {
    report(`to find them: tag coxswain.run.id=${visible(run)}`);
    if (isLive) report('its process is alive and will send its open spans itself');
  }
}
