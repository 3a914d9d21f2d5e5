import type { Span } from '../contract/record.ts';
import type { ProcedureTool, Tool } from '../contract/tool.ts';
import { envelope } from '../runtime/envelope.ts';
import { Guard } from '../runtime/guard.ts';
import { hasStarted, recordedError } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { stopError } from '../runtime/stops.ts';
import { thrownLabel } from '../runtime/thrown-label.ts';
import { type ErrorRecord, isFatal } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { Stop } from '../values/status.ts';
import { type ToolOut, type ToolValue, toolValue } from '../values/tool-value.ts';
import { toolOut } from '../values/truncate-result.ts';
import { callFacts } from './call-facts.ts';
import type { CallResult, CallSite } from './call-site.ts';
import { openProcedure } from './procedure.ts';
import { failedOut, toolFailure } from './tool-call.ts';

/** A procedure is no effect: it awaits calls of its own, and a resume computes its result anew. */
export async function runProcedure(
  run: RunContext,
  site: CallSite,
  tool: ProcedureTool,
  args: Json,
  rule: string | undefined,
): Promise<CallResult> {
  const { self, key, step, parent, parentStep, label, visible, onEnd } = site;
  const span: Span = { key, parent, handle: undefined };
  const call = callFacts(site.parsed, key, args, rule);
  const entry = { ...envelope(self, key, { step, span }), request: call, kind: 'tool' } as const;
  const hasRun = hasStarted(run, 'tool', key);
  const since = run.journal.note({ ...entry, event: 'started' });
  const guard = new Guard(key, run.stops);
  const delegate = tool.delegate && tool;
  const ctx = openProcedure(run, { self, base: key, span, parentStep, step, label, delegate, onEnd, call, guard });
  const code = () => tool.run(args as never, ctx as never);
  const work = async () => (span.handle === undefined ? code() : span.handle.run(code));
  let out: ToolOut;
  let value: ToolValue | undefined;
  try {
    // A delegate awaits only its child, which obeys every stop by itself.
    value = toolValue(await (delegate ? work() : guard.over(work, tool.graceMs ?? run.graceMs, hasRun)));
    const bounds = { max: tool.maxResultChars, ...visible, byField: isData(tool) };
    out = toolOut(value, bounds, resultLabel(tool, ctx.label));
  } catch (thrown) {
    if (isFatal(thrown)) throw thrown;
    const stop = ctx.isInterrupted ? run.stops.at(key) : undefined;
    const error = failureOf(tool, thrown, stop);
    out = failedOut(tool, error, resultLabel(tool, thrownLabel(thrown, ctx.label, tool.name)), visible);
  }
  await ctx.close();
  // Where a stop interrupts it is a matter of timing: the failure that the model has seen holds.
  const child = tool.delegate === undefined ? key : `${key}/${tool.delegate.agent.name}`;
  const recorded = run.stops.at(child) && recordedError(run, 'tool', key);
  if (recorded !== undefined) {
    out = failedOut(tool, recorded, out.label, visible);
    value = undefined;
  }
  const same = out.content;
  out = withWorkerId(site, tool, args, out);
  run.journal.note({ ...entry, event: out.isError ? 'failed' : 'done', value: out, ran: true, since });
  return value === undefined ? { out, same } : { out, same, value };
}

/** What its code makes of an interruption of one of its calls is no failure of its own: a resume continues it. */
function failureOf(tool: ProcedureTool, thrown: unknown, stop: Stop | undefined): ErrorRecord {
  const error = toolFailure(tool, thrown);
  const isInterrupted = stop !== undefined && stop.status !== 'cancelled';
  return isInterrupted && error.kind === 'threw' ? stopError(stop) : error;
}

/** A worker's result with the id by which it can be continued. */
function withWorkerId({ self, key }: CallSite, tool: ProcedureTool, args: Json, out: ToolOut): ToolOut {
  if (self.threads === undefined || (tool.delegate === undefined && tool.namesWorker !== true)) return out;
  const own = `${key.slice(self.path.length + 1)}/${tool.delegate?.agent.name}`;
  const id = tool.delegate === undefined ? (args as { readonly id: string }).id : own;
  if (!self.threads.has(id)) return out;
  const { content } = out;
  const line = `(worker ${id})`;
  const whole =
    typeof content === 'string' ? `${content}\n${line}` : [...content, { type: 'text', text: line } as const];
  return { ...out, content: whole };
}

/** What workers give in a form of their own is data, of which each field counts. */
function isData({ delegate, callsDelegates }: ProcedureTool): boolean {
  return callsDelegates === true || delegate?.agent.output !== undefined;
}

function resultLabel(tool: Tool, label: Label): Label {
  return tool.result === undefined ? label : Object.freeze({ ...label, ...tool.result });
}
