/**
 * Draws a trace as an SVG, from the answer of Jaeger's query API: `npm run draw:trace -- --query http://localhost:16686
 * --trace <id> --out trace.svg`. Without --trace the newest one of --service (default coxswain).
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

interface JaegerSpan {
  readonly spanID: string;
  readonly traceID: string;
  readonly processID: string;
  readonly operationName: string;
  readonly references: readonly { readonly refType: string; readonly traceID: string; readonly spanID: string }[];
  /** Microseconds. */
  readonly startTime: number;
  readonly duration: number;
  readonly tags: readonly { readonly key: string; readonly value: unknown }[];
  readonly logs: readonly { readonly timestamp: number }[];
}

/** A trace as the query API gives it. */
export interface JaegerTrace {
  readonly traceID: string;
  readonly spans: readonly JaegerSpan[];
  readonly processes: { readonly [id: string]: { readonly serviceName: string } };
}

const ROW = 20;
const NAMES = 430;
const TIMES = 620;
const INDENT = 14;
const TOP = 64;
const COLOURS = [
  '#17b8be',
  '#f8dca1',
  '#b7885e',
  '#ffcb99',
  '#f89570',
  '#829ae3',
  '#e79fd5',
  '#1e96be',
  '#89dac1',
  '#b3ad9e',
];
const ERROR = '#db2828';

interface Row {
  readonly span: JaegerSpan;
  readonly depth: number;
}

/** The spans as a tree, in the order in which they began, beside their times. */
export function drawTrace({ traceID, spans, processes }: JaegerTrace): string {
  const rows = treeOf(spans);
  const begin = Math.min(...spans.map(({ startTime }) => startTime));
  const end = Math.max(...spans.map(({ startTime, duration }) => startTime + duration));
  const services = [...new Set(rows.map(({ span }) => serviceOf(span, processes)))];
  const scale = (time: number) => NAMES + ((time - begin) / Math.max(1, end - begin)) * TIMES;
  const width = NAMES + TIMES + 16;
  const height = TOP + rows.length * ROW + 12;
  const errors = spans.filter((span) => tag(span, 'error') === true).length;
  const facts = `${spans.length} spans, ${services.length} services, ${errors} errors, ${length(end - begin)}`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escaped(titleOf(rows, processes))}: ${facts}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="12" y="22" font-size="15" font-weight="600" fill="#222">${escaped(titleOf(rows, processes))}</text>`,
    `<text x="12" y="42" fill="#666">trace ${traceID.slice(0, 7)}: ${facts}</text>`,
    ...ticks(end - begin, height),
    ...rows.flatMap((row, index) => rowParts(row, index, { scale, services, processes })),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function treeOf(spans: readonly JaegerSpan[]): Row[] {
  const ids = new Set(spans.map(({ spanID }) => spanID));
  const children = new Map<string, JaegerSpan[]>();
  for (const span of spans) {
    const parent =
      span.references.find(({ refType, spanID }) => refType === 'CHILD_OF' && ids.has(spanID))?.spanID ?? '';
    children.set(parent, [...(children.get(parent) ?? []), span]);
  }
  const below = (parent: string, depth: number): Row[] =>
    (children.get(parent) ?? [])
      .toSorted((a, b) => a.startTime - b.startTime)
      .flatMap((span) => [{ span, depth }, ...below(span.spanID, depth + 1)]);
  return below('', 0);
}

function titleOf([root]: readonly Row[], processes: JaegerTrace['processes']): string {
  return root === undefined ? 'no spans' : `${serviceOf(root.span, processes)}: ${root.span.operationName}`;
}

function ticks(span: number, height: number): string[] {
  return [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const x = NAMES + share * TIMES;
    const anchor = share === 1 ? 'end' : share === 0 ? 'start' : 'middle';
    return [
      `<line x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${height - 8}" stroke="#ddd"/>`,
      `<text x="${x}" y="${TOP - 10}" fill="#888" font-size="11" text-anchor="${anchor}">${length(span * share)}</text>`,
    ];
  });
}

interface Canvas {
  readonly scale: (time: number) => number;
  readonly services: readonly string[];
  readonly processes: JaegerTrace['processes'];
}

function rowParts({ span, depth }: Row, index: number, { scale, services, processes }: Canvas): string[] {
  const y = TOP + index * ROW;
  const service = serviceOf(span, processes);
  const colour = COLOURS[services.indexOf(service) % COLOURS.length] ?? '#999';
  const x = 12 + depth * INDENT;
  const left = scale(span.startTime);
  const wide = Math.max(1.5, scale(span.startTime + span.duration) - left);
  const failed = tag(span, 'error') === true;
  const room = Math.floor((NAMES - x - 20) / 6.2);
  const name = span.operationName.length > room ? `${span.operationName.slice(0, room - 1)}…` : span.operationName;
  const label = length(span.duration);
  const fits = left + wide + 8 + label.length * 6 < NAMES + TIMES;
  return [
    ...(index % 2 === 0 ? [`<rect x="0" y="${y}" width="${NAMES + TIMES + 16}" height="${ROW}" fill="#f7f7f7"/>`] : []),
    `<rect x="${x}" y="${y + 4}" width="4" height="12" fill="${colour}"/>`,
    ...(failed ? [`<circle cx="${x + 12}" cy="${y + 10}" r="4" fill="${ERROR}"/>`] : []),
    `<text x="${x + (failed ? 20 : 9)}" y="${y + 14}" fill="#222">${escaped(name)}</text>`,
    `<rect x="${left.toFixed(1)}" y="${y + 5}" width="${wide.toFixed(1)}" height="10" rx="1.5" fill="${colour}"/>`,
    ...span.logs.map(({ timestamp }) => {
      const at = scale(timestamp).toFixed(1);
      return `<line x1="${at}" y1="${y + 3}" x2="${at}" y2="${y + 17}" stroke="#444"/>`;
    }),
    `<text x="${(fits ? left + wide + 5 : left - 5).toFixed(1)}" y="${y + 14}" fill="#666" font-size="10" text-anchor="${fits ? 'start' : 'end'}">${label}</text>`,
  ];
}

function serviceOf({ processID }: JaegerSpan, processes: JaegerTrace['processes']): string {
  return processes[processID]?.serviceName ?? 'unknown';
}

function tag({ tags }: JaegerSpan, name: string): unknown {
  return tags.find(({ key }) => key === name)?.value;
}

function length(micros: number): string {
  if (micros < 1_000) return `${Math.round(micros)} µs`;
  return micros < 1_000_000 ? `${(micros / 1_000).toFixed(1)} ms` : `${(micros / 1_000_000).toFixed(2)} s`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

async function main(): Promise<void> {
  const options = {
    query: { type: 'string' },
    trace: { type: 'string' },
    service: { type: 'string' },
    out: { type: 'string' },
  } as const;
  const { query = 'http://localhost:16686', trace, service = 'coxswain', out } = parseArgs({ options }).values;
  const path = trace === undefined ? `?service=${encodeURIComponent(service)}&limit=1&lookback=1h` : `/${trace}`;
  const response = await fetch(`${query}/api/traces${path}`);
  const { data } = (await response.json()) as { readonly data: readonly JaegerTrace[] | null };
  const [found] = data ?? [];
  if (found === undefined) throw new Error(`${query} has no such trace`);
  const drawn = drawTrace(found);
  if (out === undefined) process.stdout.write(drawn);
  else writeFileSync(out, drawn);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
