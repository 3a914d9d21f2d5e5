import type { ToolIn } from '../contract/boundary.ts';
import type { ParentStep, Span } from '../contract/record.ts';
import type { ProcedureTool, Tool } from '../contract/tool.ts';
import { Guard } from '../runtime/guard.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { hasStarted, recordedError, startedArguments, wasJudged } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { stopError } from '../runtime/stops.ts';
import { thrownLabel } from '../runtime/thrown-label.ts';
import { type ErrorRecord, isFatal } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { ToolCall, ToolMessage } from '../values/message.ts';
import type { Stop } from '../values/status.ts';
import type { ToolOut } from '../values/tool-value.ts';
import { type ToolValue, toolOut, toolValue, type Visible } from '../values/tool-value.ts';
import { openProcedure } from './procedure.ts';
import type { ParsedCall } from './resolve-call.ts';
import { failedOut, ToolCallEffect, toolFailure } from './tool-call.ts';

/** Where a call stands. `parentStep` is the nearest model step: that of what it starts. */
export interface CallSite {
  readonly key: string;
  readonly step: number;
  readonly parent: Span;
  readonly parentStep: ParentStep | undefined;
  /** What the caller may know of a result that is cut. */
  readonly visible?: Visible | undefined;
  /** Told when the worker of a delegate is over, before anything else begins in its place. */
  readonly onEnd?: ((isCompleted: boolean) => void) | undefined;
}

/** A call's result: what the model is told, and for code the value or the error. */
export interface Dispatched {
  readonly out: ToolOut;
  /** What equal calls give alike: the content without a worker's id. */
  readonly same?: ToolOut['content'];
  readonly value?: ToolValue;
}

/** Calls that are not `parallel` run one at a time, in call order among those that may start. One per turn. */
export class OneAtATime {
  #last: Promise<void> | undefined;

  /** Resolves when it is this call's turn, with what ends the turn. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    let leave = () => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }
}

/** Permission, then the effect or the procedure's own calls. Rejects only with infrastructure errors. */
export async function dispatch(
  run: RunContext,
  self: Invocation,
  at: CallSite,
  parsed: ParsedCall,
  label: Label,
  oneAtATime: OneAtATime,
): Promise<Dispatched> {
  const { call, tool } = parsed;
  run.journal.showAsks(at.key, self, at.step);
  if (tool === undefined || parsed.refused !== undefined) {
    const error = parsed.refused ?? { kind: 'unknown_tool', message: 'unknown tool', retryable: false };
    return refuse(run, self, at, parsed, error, label);
  }
  const query = { key: at.key, self, step: at.step, callId: call.id, tool, args: parsed.args, label };
  const asked = wasJudged(run, at.key) ? ({ ok: true, args: parsed.args } as const) : run.permissions.permit(query);
  const permit = asked instanceof Promise ? await asked : asked;
  if (!permit.ok) {
    const unknown = tool.type !== 'procedure' && permit.stop === undefined && hasStarted(run, 'tool', at.key);
    const error = unknown
      ? onUnknown(permit.error)
      : permit.stop && isDelegate(tool)
        ? notBegun(permit.error)
        : permit.error;
    return refuse(run, self, at, parsed, error, label);
  }
  // Those that it began with: reading a person's again may give others.
  const args = startedArguments(run, at.key) ?? permit.args;
  const leave = tool.parallel ? undefined : await oneAtATime.enter();
  try {
    const facts = toolIn(tool, call, at.key, args, permit.rule);
    if (tool.type === 'procedure') return await runProcedure(run, self, at, tool, facts, args, label);
    const of = {
      key: at.key,
      step: at.step,
      parent: at.parent,
      self,
      tool,
      in: facts,
      given: call.arguments,
      args: args,
      label: run.tools.resultLabel(tool, self),
      visible: at.visible,
    };
    const effect = new ToolCallEffect(run, of);
    const outcome = await run.journal.effect(effect);
    if (outcome.ok) tool.remember?.({ args, value: outcome.value, self, step: at.step });
    return outcome.ok ? { out: effect.out(outcome), value: outcome.value } : { out: effect.out(outcome) };
  } finally {
    leave?.();
  }
}

/** A procedure is no effect: it awaits calls of its own, and what it gives is worked out anew at a resume. */
async function runProcedure(
  run: RunContext,
  self: Invocation,
  at: CallSite,
  tool: ProcedureTool,
  call: ToolIn,
  args: Json,
  label: Label,
): Promise<Dispatched> {
  const span: Span = { key: at.key, parent: at.parent, handle: undefined };
  const entry = { key: at.key, node: self, step: at.step, attempt: 1, span, request: call } as const;
  const begun = hasStarted(run, 'tool', at.key);
  const since = run.journal.note({ ...entry, kind: 'tool', event: 'started' });
  const guard = new Guard(at.key, run.stops);
  const ctx = openProcedure(run, {
    self,
    base: at.key,
    span,
    parentStep: at.parentStep,
    step: at.step,
    label,
    delegate: tool.delegate && tool,
    onEnd: at.onEnd,
    call,
    guard,
  });
  const { handle } = span;
  const drive = () => tool.run(args as never, ctx as never);
  const work = async () => (handle === undefined ? drive() : handle.run(drive));
  let out: ToolOut;
  let value: ToolValue | undefined;
  try {
    // A delegate awaits only its child, which obeys every stop by itself.
    const over = () => guard.over(work, tool.graceMs ?? run.graceMs, begun);
    value = toolValue(await (tool.delegate ? work() : over()));
    const bounds = { max: tool.maxResultChars, ...at.visible, byField: isData(tool) };
    out = toolOut(value, bounds, procedureLabel(tool, ctx.label));
  } catch (thrown) {
    if (isFatal(thrown)) throw thrown;
    const thrownBy = thrownLabel(thrown, ctx.label, tool.name);
    const stop = ctx.isInterrupted ? run.stops.at(at.key) : undefined;
    out = failedOut(tool, ownFailure(tool, thrown, stop), procedureLabel(tool, thrownBy), at.visible);
  }
  await ctx.close();
  // Where a stop met it is a matter of timing: the failure that was told then stands.
  const child = tool.delegate === undefined ? at.key : `${at.key}/${tool.delegate.agent.name}`;
  const recorded = run.stops.at(child) && recordedError(run, 'tool', at.key);
  if (recorded !== undefined) {
    out = failedOut(tool, recorded, out.label, at.visible);
    value = undefined;
  }
  const same = out.content;
  out = named(self, tool, at.key, args, out);
  run.journal.note({ ...entry, kind: 'tool', event: out.isError ? 'failed' : 'done', value: out, ran: true, since });
  return value === undefined ? { out, same } : { out, same, value };
}

/** What its code makes of an interruption that met one of its calls is no failure of its own: a resume goes on with it. */
function ownFailure(tool: ProcedureTool, thrown: unknown, stop: Stop | undefined): ErrorRecord {
  const error = toolFailure(tool, thrown);
  const isInterrupted = stop !== undefined && stop.status !== 'cancelled';
  return isInterrupted && error.kind === 'threw' ? stopError(stop) : error;
}

/** A worker's result with the id by which it can be continued. */
function named(self: Invocation, tool: ProcedureTool, key: string, args: Json, out: ToolOut): ToolOut {
  if (self.threads === undefined || (tool.delegate === undefined && tool.namesWorker !== true)) return out;
  const own = `${key.slice(self.path.length + 1)}/${tool.delegate?.agent.name}`;
  const id = tool.delegate === undefined ? (args as { readonly id: string }).id : own;
  if (!self.threads.has(id)) return out;
  const { content } = out;
  const line = `(worker ${id})`;
  const said =
    typeof content === 'string' ? `${content}\n${line}` : [...content, { type: 'text', text: line } as const];
  return { ...out, content: said };
}

/** What workers give in a form of their own is data, of which each field counts. */
function isData({ delegate, callsDelegates }: ProcedureTool): boolean {
  return callsDelegates === true || delegate?.agent.output !== undefined;
}

function procedureLabel(tool: Tool, label: Label): Label {
  return tool.result === undefined ? label : Object.freeze({ ...label, ...tool.result });
}

function isDelegate(tool: Tool): boolean {
  return tool.type === 'procedure' && tool.delegate !== undefined;
}

/** A worker that was stopped before it began is told like one that was stopped later. */
function notBegun(error: ErrorRecord): ErrorRecord {
  return { ...error, message: `${error.kind}: ${error.message}` };
}

/** It was under way when the process died, and may not run again: "denied" would say that it did not happen. */
function onUnknown({ message }: ErrorRecord): ErrorRecord {
  return {
    kind: 'unknown_outcome',
    message: `the process died while this call was under way; whether it took effect is unknown, and it did not run again: ${message}`,
    retryable: false,
  };
}

function refuse(
  run: RunContext,
  self: Invocation,
  at: CallSite,
  parsed: ParsedCall,
  error: ErrorRecord,
  label: Label,
): Dispatched {
  const { call, tool } = parsed;
  // An error text that quotes arguments says what the model said: it carries the label of the turn.
  const out = failedOut(tool, error, label, at.visible);
  const span: Span = { key: at.key, parent: at.parent, handle: undefined };
  const entry = { key: at.key, node: self, step: at.step, attempt: 1, span } as const;
  run.journal.note({
    ...entry,
    kind: 'tool',
    event: 'failed',
    request: toolIn(tool, call, at.key, parsed.args),
    value: out,
    ran: false,
  });
  return { out };
}

function toolIn(tool: Tool | undefined, call: ToolCall, key: string, args: Json, rule?: string): ToolIn {
  if (tool === undefined) return { name: call.name, description: '', callId: call.id, args };
  const { name, description, access } = tool;
  // A call of code has its address for an id.
  const given = call.id === key ? { given: call.arguments } : undefined;
  const facts = { name, description, callId: call.id, args, access, ...given, ...(tool.mcp && { mcp: tool.mcp }) };
  if (tool.type === 'procedure' && tool.delegate) {
    const ofWorker = { ...facts, delegate: tool.delegate.agent.name };
    return rule === undefined ? ofWorker : { ...ofWorker, rule };
  }
  if (rule === undefined && tool.sandbox === undefined) return facts;
  return {
    ...facts,
    ...(rule !== undefined && { rule }),
    ...(tool.sandbox !== undefined && { sandbox: tool.sandbox }),
  };
}

/** `ref` names the whole of a result that was cut. */
export function toolMessage(call: ToolCall, ref: string, out: ToolOut): ToolMessage {
  const message = {
    role: 'tool',
    callId: call.id,
    name: call.name,
    content: out.content,
    isError: out.isError,
    label: out.label,
  } as const;
  return Object.freeze(out.cut ? { ...message, ref } : message);
}
