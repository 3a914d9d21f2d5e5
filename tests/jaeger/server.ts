import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface Jaeger {
  /** Base URLs. */
  readonly otlp: string;
  readonly query: string;
  stop(): void;
}

const DOCKER =
  'docker run --rm -p 127.0.0.1:16686:16686 -p 127.0.0.1:4318:4318 jaegertracing/jaeger:2.20.0, then JAEGER_QUERY_URL=http://localhost:16686 OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 npm run test:jaeger';

/** The Jaeger that JAEGER_QUERY_URL and OTEL_EXPORTER_OTLP_ENDPOINT name, else one of our own, if it was built before: building takes ten minutes. */
export async function jaeger(): Promise<Jaeger | { readonly skipped: string }> {
  const { JAEGER_QUERY_URL: query, OTEL_EXPORTER_OTLP_ENDPOINT: otlp } = process.env;
  if (query !== undefined && otlp !== undefined) return { query: bare(query), otlp: bare(otlp), stop() {} };
  const script = ['../shared/jaeger/start', '../../shared/jaeger/start'].map((path) => resolve(path)).find(existsSync);
  if (script === undefined)
    return { skipped: `JAEGER_QUERY_URL and OTEL_EXPORTER_OTLP_ENDPOINT are not set. With docker: ${DOCKER}` };
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const isBuilt = existsSync(process.env.JAEGER_BIN ?? join(cache, 'jaeger-v1.76.0/jaeger'));
  if (!isBuilt)
    return { skipped: `Jaeger was not built; ${script} builds it in about ten minutes. With docker: ${DOCKER}` };
  const base = 20_000 + (process.pid % 10_000) * 4;
  const ports = { JAEGER_OTLP_PORT: base, JAEGER_QUERY_PORT: base + 1, JAEGER_GRPC_PORT: base + 2 };
  const env = {
    ...process.env,
    ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
  };
  const { stdout } = await promisify(execFile)(script, { env });
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(stdout)?.[1] ?? '';
  const pid = Number(value('pid'));
  return { otlp: value('otlp'), query: value('query'), stop: () => void process.kill(pid, 'SIGKILL') };
}

function bare(url: string): string {
  return url.replace(/\/+$/, '');
}

/** A span as Jaeger's query API gives it. */
export interface JaegerSpan {
  readonly traceID: string;
  readonly spanID: string;
  readonly operationName: string;
  readonly references: readonly {
    readonly refType: 'CHILD_OF' | 'FOLLOWS_FROM';
    readonly traceID: string;
    readonly spanID: string;
  }[];
  /** Microseconds since 1970. */
  readonly startTime: number;
  readonly duration: number;
  readonly tags: readonly { readonly key: string; readonly value: unknown }[];
  readonly warnings: readonly string[] | null;
}

/** The spans of a trace, once as many are there. */
export async function traceOf({ query }: Jaeger, trace: string, spans: number): Promise<readonly JaegerSpan[]> {
  for (let look = 0; ; look += 1) {
    const response = await fetch(`${query}/api/traces/${trace}`);
    const { data } = (await response.json()) as { data?: { spans: JaegerSpan[] }[] | null };
    const found = data?.flatMap((one) => one.spans) ?? [];
    if (found.length >= spans || look > 100) return found;
    await new Promise((again) => setTimeout(again, 100));
  }
}

/** Trace ids of a service's traces in which a span has these tags. */
export async function search({ query }: Jaeger, service: string, tags: Record<string, string>): Promise<string[]> {
  const asked = new URLSearchParams({ service, tags: JSON.stringify(tags), limit: '1500', lookback: '1h' });
  const response = await fetch(`${query}/api/traces?${asked}`);
  const { data } = (await response.json()) as { data?: { traceID: string }[] | null };
  return (data ?? []).map(({ traceID }) => traceID);
}

export function tagsOf({ tags }: JaegerSpan): Record<string, unknown> {
  return Object.fromEntries(tags.map(({ key, value }) => [key, value]));
}
