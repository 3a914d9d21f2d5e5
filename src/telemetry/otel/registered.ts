import { createNoopMeter, type Meter, metrics, ProxyTracerProvider, type Tracer, trace } from '@opentelemetry/api';

const SCOPE = 'coxswain';

/** Who makes the spans of a run. */
export interface Tracers {
  readonly ofRun: Tracer;
  ofAgent(agent: string): Tracer;
}

/** A provider in which each agent is a separate service. */
export interface AgentTracers {
  agentTracer(agent: string): Tracer;
}

/** The tracers of the registered provider; undefined without one. Called once per run. */
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

/** The meter of the registered provider; undefined without one. */
export function registeredMeter(): Meter | undefined {
  const meter = metrics.getMeterProvider().getMeter(SCOPE);
  return Object.getPrototypeOf(meter) === Object.getPrototypeOf(createNoopMeter()) ? undefined : meter;
}

/** How long a parked run waits for its spans to be sent. */
const FLUSH_MS = 3_000;

/** Flushes the registered provider. Rejects if that fails or takes longer than three seconds. */
export async function flushRegistered(): Promise<void> {
  const provider = trace.getTracerProvider();
  const own: object = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if (!('forceFlush' in own) || typeof own.forceFlush !== 'function') return;
  await withTimeout(FLUSH_MS, Promise.resolve(own.forceFlush()));
}

/** Settles as `work` does, or rejects after `ms`. */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
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
