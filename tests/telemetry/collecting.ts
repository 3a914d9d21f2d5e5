import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import { type OtelSetup, type SetupOptions, setupOtel } from 'coxswain/otel';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { faultsOf } from './conventions.ts';
import { receiver, type WireSpan } from './receiver.ts';

/** A collector for the tests of a file, and an SDK that sends there. */
export function collecting(options: Partial<SetupOptions> = {}) {
  let collector: Awaited<ReturnType<typeof receiver>>;
  let setup: OtelSetup;
  beforeAll(async () => {
    collector = await receiver();
    setup = await setupOtel({ serviceName: 'tests', endpoint: collector.endpoint, ...options });
  });
  afterEach(() => {
    collector.bodies.length = 0;
  });
  afterAll(async () => {
    await setup.shutdown();
    collector.close();
  });
  return {
    get bodies() {
      return collector.bodies;
    },
    get endpoint() {
      return collector.endpoint;
    },
    /** What has come until now. */
    async spans(): Promise<WireSpan[]> {
      const provider = trace.getTracerProvider();
      const own = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
      if ('forceFlush' in own && typeof own.forceFlush === 'function') await own.forceFlush();
      return collector.spans();
    },
  };
}

/** What is wrong with the form of one trace; empty where it is one whole tree by the conventions. */
export function treeFaults(spans: readonly WireSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
  const faults = spans.flatMap(faultsOf);
  if (roots.length !== 1) faults.push(`${roots.length} roots`);
  if (byId.size !== spans.length) faults.push('a span is there twice');
  for (const span of spans) {
    const parent = byId.get(span.parentSpanId ?? '');
    if (span.parentSpanId !== undefined && parent === undefined) faults.push(`${span.name} has no parent`);
    if (parent === undefined) continue;
    const inside =
      BigInt(parent.startTimeUnixNano) <= BigInt(span.startTimeUnixNano) &&
      BigInt(parent.endTimeUnixNano) >= BigInt(span.endTimeUnixNano);
    if (!inside) faults.push(`${span.name} sticks out of ${parent.name}`);
  }
  return faults;
}

/** The only span of a name. */
export function only(spans: readonly WireSpan[], name: string): WireSpan {
  const [found, ...more] = spans.filter((span) => span.name === name);
  if (found === undefined || more.length > 0) throw new Error(`${more.length + (found ? 1 : 0)} spans ${name}`);
  return found;
}
