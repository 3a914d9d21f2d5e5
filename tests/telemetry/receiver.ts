import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

type Value = { [wire: string]: unknown };
interface WireAttribute {
  key: string;
  value: Value;
}
interface WireEvent {
  name: string;
  timeUnixNano: string;
  attributes?: WireAttribute[];
}

/** A span as OTLP/HTTP JSON has it. */
export interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 1 INTERNAL, 3 CLIENT. */
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: WireAttribute[];
  events?: WireEvent[];
  links?: { traceId: string; spanId: string; attributes?: WireAttribute[] }[];
  status: { code?: number; message?: string };
}

/** An OTLP/HTTP collector on loopback that keeps what it gets. */
export async function receiver() {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      bodies.push((request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString());
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bodies,
    spans: () => bodies.flatMap((body) => spansIn(JSON.parse(body))),
    /** Each metric as it was sent last. */
    metrics: () =>
      new Map(bodies.flatMap((body) => metricsIn(JSON.parse(body))).map((metric) => [metric.name, metric])),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Wire {
  resourceSpans?: { scopeSpans: { spans: WireSpan[] }[] }[];
}

/** The spans of an OTLP document. */
export function spansIn(wire: Wire): WireSpan[] {
  return (wire.resourceSpans ?? []).flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans));
}

export interface WireMetric {
  name: string;
  unit: string;
  description: string;
  histogram?: { dataPoints: WirePoint[] };
  sum?: { isMonotonic?: boolean; dataPoints: WirePoint[] };
}

export interface WirePoint {
  attributes: WireAttribute[];
  count?: string;
  sum?: number;
  asDouble?: number;
  asInt?: string;
  explicitBounds?: number[];
}

function metricsIn(wire: { resourceMetrics?: { scopeMetrics: { metrics: WireMetric[] }[] }[] }): WireMetric[] {
  return (wire.resourceMetrics ?? []).flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
}

/** Attributes by name, as plain values. */
export function attributesOf(span: { attributes?: WireAttribute[] }): Record<string, unknown> {
  return Object.fromEntries((span.attributes ?? []).map(({ key, value }) => [key, plain(value)]));
}

function plain(value: Value): unknown {
  const [[wire, held] = ['', undefined]] = Object.entries(value);
  if (wire === 'intValue') return Number(held);
  if (wire === 'arrayValue') return (held as { values: Value[] }).values.map(plain);
  return held;
}
