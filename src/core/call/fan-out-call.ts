import type { Agent } from '../contract/agent.ts';
import type { FanOutOptions, FanOutResult } from '../contract/fan-out-options.ts';
import type { Tool } from '../contract/tool.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { BuiltinFanOut, BuiltinProcedureContext } from '../runtime/builtin-context.ts';
import type { ChildCall } from '../runtime/child-starter.ts';
import { Stopped } from '../runtime/guard.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { wasInterrupted } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { ConfigurationError, type ErrorRecord, isA, ToolError } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import { checkOptions, checkWhole, shown } from '../values/options.ts';
import type { Stop } from '../values/status.ts';
import { checkFanOut, FanOut } from './fan-out.ts';
import { permitWorker } from './permit-worker.ts';

/** The whole procedure was stopped: what its workers had until then. */
export class FanOutStopped extends Stopped {
  readonly results: readonly FanOutResult[];
  constructor(stop: Stop, results: readonly FanOutResult[]) {
    super(stop);
    this.results = results;
  }
}

const DEFAULT_CONCURRENCY = 4;

/**
 * One child for each brief, in the order of the briefs. A worker that fails is a result; rejects where the procedure is stopped.
 * `address` follows from what is called and with what.
 */
export async function callFanOut(
  ctx: BuiltinProcedureContext,
  address: (name: string, input: unknown) => string,
  agent: Agent,
  briefs: readonly unknown[],
  options: BuiltinFanOut,
): Promise<readonly FanOutResult[]> {
  const { run, self, base } = ctx.site;
  const { policy = 'collect', delegate } = options;
  const decision = address('@fanout', [agent.name, policy, briefs]);
  const keys = briefs.map((brief) => address(agent.name, brief));
  const fanOut = policy === 'collect' ? undefined : new FanOut(run, self, { key: decision, policy, paths: keys });
  const slots = slotsOf(self, options);
  const results = await Promise.all(
    keys.map(async (key, index) => {
      const onEnd = (isCompleted: boolean) => fanOut?.ended(key, isCompleted);
      try {
        const input = delegate === undefined ? briefs[index] : await permitted(ctx, key, delegate, briefs[index]);
        return resultOf(await ctx.invoke({ key, agent, input, delegate, onEnd, slots }));
      } catch (thrown) {
        if (!isA(thrown, ToolError) && !isA(thrown, Stopped)) throw thrown;
        onEnd(false);
        return refused(key, thrown);
      }
    }),
  );
  const stop = run.stops.at(base);
  if (stop !== undefined && results.some((result) => isInterrupted(run, result, stop)))
    throw new FanOutStopped(stop, results);
  return results;
}

/** What had ended before the stop came, in whatever epoch, is not interrupted by it. */
function isInterrupted(run: RunContext, { path, status }: FanOutResult, stop: Stop): boolean {
  return status === stop.status && wasInterrupted(run, 'agent', path, stop) !== false;
}

/** The brief that a worker of a model's fan-out may have; a ToolError where it may not. */
async function permitted(ctx: BuiltinProcedureContext, key: string, tool: Tool, brief: unknown): Promise<unknown> {
  const { run, self, step, call } = ctx.site;
  const query = { key, step, callId: call?.callId ?? key, tool, args: brief as Json, label: ctx.label };
  const permit = await permitWorker(run, self, query);
  if (!permit.ok) {
    const stop = run.stops.at(key);
    throw stop?.status === permit.error.kind ? new Stopped(stop) : new ToolError('denied', permit.error.message);
  }
  ctx.join(permit.label);
  return permit.args;
}

/** A supervisor has slots of its own for its workers. */
function slotsOf(self: Invocation, { concurrency }: FanOutOptions): ChildCall['slots'] {
  const isSupervisor = self.definition.type === 'model' && self.definition.concurrency !== undefined;
  if (concurrency === undefined && isSupervisor) return undefined;
  return { of: {}, concurrency: concurrency ?? DEFAULT_CONCURRENCY };
}

function resultOf({ self, status, text, output, error }: AgentOutcome): FanOutResult {
  const { path } = self;
  if (status === 'completed') return { status, output, text, path };
  return { status, error: plain(error ?? { kind: status, message: status, retryable: false }), text, path };
}

/** A worker that never began: it was not let, or a stop came first. */
function refused(path: string, thrown: ToolError | Stopped): FanOutResult {
  if (isA(thrown, Stopped)) return { status: thrown.stop.status, error: plain(thrown.record), text: '', path };
  const { kind, message } = thrown;
  return { status: 'model_error', error: { kind, message, retryable: false }, text: '', path };
}

function plain({ kind, message, retryable }: ErrorRecord) {
  return { kind, message, retryable };
}

/** Refuses what is no fan-out. */
export function checkFanOutCall(field: string, briefs: unknown, options: unknown, more: readonly string[] = []): void {
  if (!Array.isArray(briefs))
    throw new ConfigurationError(`${field}.briefs`, `expected an array, got ${shown(briefs)}`, 'List the briefs.');
  briefs.forEach((brief: unknown, index) => {
    if (isJson(brief)) return;
    const mend = 'Briefs are data that JSON can hold.';
    throw new ConfigurationError(`${field}.briefs[${index}]`, 'a cycle, a BigInt or a getter that throws', mend);
  });
  checkOptions(field, options, ['policy', 'concurrency', ...more]);
  const { policy, concurrency, delegate } = options as BuiltinFanOut;
  checkFanOut(`${field}.policy`, policy);
  // How many briefs there are is a model's choice, then: of fewer than the quorum all are needed.
  if (delegate === undefined && typeof policy === 'object' && policy.quorum > briefs.length)
    throw new ConfigurationError(
      `${field}.policy`,
      `a quorum of ${policy.quorum} among ${briefs.length} briefs can never be reached`,
      'Give more briefs or a smaller quorum.',
    );
  checkWhole(`${field}.concurrency`, concurrency, 1);
}

function isJson(value: unknown): boolean {
  try {
    return value !== undefined && JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
