import type { Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';

const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const LONG = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const COUNTS = [1, 2, 4, 8, 16, 32, 64, 128];
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/**
 * Every metric, in one file, since the conventions still rename theirs now and then. `gen_ai.*` as of 1.41.1 and, where that
 * has none, as merged after it.
 */
const TABLE = {
  callDuration: [
    'histogram',
    'gen_ai.client.operation.duration',
    's',
    'Duration of model calls and embeddings',
    SECONDS,
  ],
  tokens: ['histogram', 'gen_ai.client.token.usage', '{token}', 'Tokens of model calls', TOKENS],
  workflowDuration: ['histogram', 'gen_ai.invoke_workflow.duration', 's', 'Duration of the runs of teams', LONG],
  agentDuration: ['histogram', 'gen_ai.invoke_agent.duration', 's', 'Duration of invocations', LONG],
  agentCalls: [
    'histogram',
    'gen_ai.invoke_agent.inference_calls',
    '{inference_call}',
    'Own model calls of an invocation',
    COUNTS,
  ],
  agentTools: ['histogram', 'gen_ai.invoke_agent.tool_calls', '{tool_call}', 'Tool calls of an invocation', COUNTS],
  toolDuration: ['histogram', 'gen_ai.execute_tool.duration', 's', 'Duration of tool calls', SECONDS],
  toolFailures: ['counter', 'coxswain.tool.failures', '{call}', 'Tool calls that failed or were refused'],
  retries: ['counter', 'coxswain.model.retries', '{retry}', 'Repeated attempts of model calls'],
  cost: ['counter', 'coxswain.cost', 'USD', 'Cost of model calls, where it is known'],
  runs: ['counter', 'coxswain.runs', '{run}', 'Runs that ended or parked, by status'],
  runSteps: ['histogram', 'coxswain.run.steps', '{step}', 'Model steps of a run', COUNTS],
  contextFill: ['histogram', 'coxswain.context.fill', '1', 'Input tokens of a call, as a share of the window', SHARES],
  queueWait: ['histogram', 'coxswain.queue.wait', 's', 'Time in which calls and workers stood in line', SECONDS],
  approvalsPending: ['updown', 'coxswain.approvals.pending', '{request}', 'Requests that wait for a person'],
  approvalWait: ['histogram', 'coxswain.approval.wait', 's', 'Time from a request to its answer', LONG],
} as const;

type Name = keyof typeof TABLE;
type Row = readonly [kind: string, name: string, unit: string, description: string, buckets?: readonly number[]];

/** The instruments of one meter. */
export type Instruments = {
  readonly [N in Name]: (typeof TABLE)[N][0] extends 'histogram'
    ? Histogram
    : (typeof TABLE)[N][0] extends 'counter'
      ? Counter
      : UpDownCounter;
};

const made = new WeakMap<Meter, Instruments>();

/** Made once a meter. */
export function instruments(meter: Meter): Instruments {
  const known = made.get(meter);
  if (known !== undefined) return known;
  const all = Object.fromEntries(Object.entries(TABLE).map(([name, row]) => [name, instrument(meter, row)]));
  made.set(meter, all as unknown as Instruments);
  return all as unknown as Instruments;
}

function instrument(meter: Meter, [kind, name, unit, description, buckets]: Row) {
  if (kind === 'counter') return meter.createCounter(name, { unit, description });
  if (kind === 'updown') return meter.createUpDownCounter(name, { unit, description });
  const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
  return meter.createHistogram(name, { unit, description, ...advice });
}
