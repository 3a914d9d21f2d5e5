import { createNoopMeter, type Meter, metrics, ProxyTracerProvider, type Tracer, trace } from '@opentelemetry/api';

const SCOPE = 'coxswain';

/** Who makes the spans of a run. */
export interface Tracers {
  readonly ofRun: Tracer;
  ofAgent(agent: string): Tracer;
}

/** A provider in which each agent is a service of its own. */
export interface AgentTracers {
  agentTracer(agent: string): Tracer;
}

/** Of the registered provider; asked once a run, so that without one nothing else is done. */
export function registeredTracers(): Tracers | undefined {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return alike(provider.getTracer(SCOPE));
  const tracer = provider.getDelegateTracer(SCOPE);
  if (tracer === undefined) return undefined;
  const own = provider.getDelegate();
  return 'agentTracer' in own && typeof own.agentTracer === 'function'
    ? { ofRun: tracer, ofAgent: (agent) => (own as AgentTracers).agentTracer(agent) }
    : alike(tracer);
}

function alike(tracer: Tracer): Tracers {
  return { ofRun: tracer, ofAgent: () => tracer };
}

/** Of the registered provider; undefined where there is none. */
export function registeredMeter(): Meter | undefined {
  const meter = metrics.getMeterProvider().getMeter(SCOPE);
  return Object.getPrototypeOf(meter) === Object.getPrototypeOf(createNoopMeter()) ? undefined : meter;
}

/** How long a parked run waits for its spans to be sent. */
const FLUSH_MS = 3_000;

/** Has the registered provider send what it holds. Rejects where that fails or takes longer than three seconds. */
export async function flushRegistered(): Promise<void> {
  const provider = trace.getTracerProvider();
  const own: object = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if (!('forceFlush' in own) || typeof own.forceFlush !== 'function') return;
  await within(FLUSH_MS, Promise.resolve(own.forceFlush()));
}

/** A promise, given up after `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1_000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
