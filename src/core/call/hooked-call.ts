import type { HookCall, HookResult } from '../contract/hooks.ts';
import type { Tool } from '../contract/tool.ts';
import { blocked, type Firing, fire, hooksFor } from '../runtime/fire.ts';
import type { HookAnswer } from '../runtime/hook-answer.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { hasEnded, hasFixedArguments } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { parseArguments } from '../schema/parse-arguments.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import { joinLabels, type Label } from '../values/label.ts';
import type { Part } from '../values/message.ts';
import type { ToolOut } from '../values/tool-value.ts';
import type { CallSite, Dispatched, dispatch, OneAtATime } from './dispatch.ts';
import { dispatchEndorsed } from './endorse.ts';
import type { ParsedCall } from './resolve-call.ts';
import { failedOut } from './tool-call.ts';

type Dispatch = typeof dispatch;

/** A call with the hooks before and after it; without any it is only dispatched. */
export const dispatchHooked: Dispatch = (run, self, at, parsed, label, oneAtATime) => {
  const before = hooksFor(run, self, 'beforeTool');
  const after = hooksFor(run, self, 'afterTool');
  if (before === undefined && after === undefined) return dispatchEndorsed(run, self, at, parsed, label, oneAtATime);
  return hooked(run, self, at, parsed, label, oneAtATime, { before, after });
};

type Fired = Firing['hooks'] | undefined;

async function hooked(
  run: RunContext,
  self: Invocation,
  at: CallSite,
  parsed: ParsedCall,
  label: Label,
  oneAtATime: OneAtATime,
  hooks: { readonly before: Fired; readonly after: Fired },
): Promise<Dispatched> {
  const { tool } = parsed;
  // It will not run whatever a hook says: the model reads its mistake.
  if (tool === undefined || parsed.refused !== undefined)
    return dispatchEndorsed(run, self, at, parsed, label, oneAtATime);
  const isPast = hasEnded(run, 'tool', at.key);
  const allowed = await before(run, self, { ...at, isPast }, parsed, tool, label, hooks.before);
  const done = await dispatchEndorsed(run, self, at, allowed.parsed, allowed.label, oneAtATime);
  if (hooks.after === undefined || allowed.parsed.refused !== undefined) return done;
  return after(run, self, at, allowed.parsed, tool, done, hooks.after);
}

/** Where a call stands, and whether it is on record. */
type BeforePlace = Pick<CallSite, 'key' | 'step'> & { readonly isPast: boolean };

/** A call with the hooks before it: refused by them, or with the arguments that they gave, and the label that it then has. */
export function beforeCall(
  run: RunContext,
  self: Invocation,
  at: BeforePlace,
  parsed: ParsedCall,
  tool: Tool,
  label: Label,
): ReturnType<typeof before> {
  return before(run, self, at, parsed, tool, label, hooksFor(run, self, 'beforeTool'));
}

async function before(
  run: RunContext,
  self: Invocation,
  at: BeforePlace,
  parsed: ParsedCall,
  tool: Tool,
  label: Label,
  hooks: Fired,
): Promise<{ readonly parsed: ParsedCall; readonly label: Label }> {
  if (hooks === undefined) return { parsed, label };
  const { key, step, isPast } = at;
  const about: HookCall = aboutCall(parsed, tool);
  const fired = await fire(run, self, {
    name: 'beforeTool',
    hooks,
    key,
    at: `${key}/@beforeTool`,
    step,
    about,
    isPast,
  });
  if (!fired.ok) return { parsed: { ...parsed, refused: fired.error }, label };
  const { block, args, label: worse } = fired.value;
  const joined = worse === undefined ? label : joinLabels(label, worse);
  if (block !== undefined) {
    const refused = blocked('denied', `Not run: it was blocked (${block}).`);
    return { parsed: { ...parsed, refused }, label: joined };
  }
  // What was shown to a person, or begun with, is on record.
  const isFixed = hasFixedArguments(run, key);
  return { parsed: args === undefined || isFixed ? parsed : changed(parsed, tool, args), label: joined };
}

/** Judged as a model's are. */
function changed(parsed: ParsedCall, tool: Tool, given: Json): ParsedCall {
  const args = parseArguments(JSON.stringify(given), tool.input);
  if (args.ok) return { ...parsed, args: deepFreeze(args.value as Json) };
  const refused = {
    kind: args.kind,
    message: `Not run: a hook changed the arguments, and ${args.message}`,
    retryable: false,
  };
  return { ...parsed, refused };
}

async function after(
  run: RunContext,
  self: Invocation,
  at: CallSite,
  parsed: ParsedCall,
  tool: Tool,
  done: Dispatched,
  hooks: Firing['hooks'],
): Promise<Dispatched> {
  const { key, step } = at;
  const { content, isError } = done.out;
  const about: HookResult = { ...aboutCall(parsed, tool), content, isError };
  const fired = await fire(run, self, {
    name: 'afterTool',
    hooks,
    key,
    at: `${key}/@afterTool`,
    step,
    about,
    isPast: false,
  });
  // It was stopped: nothing that follows reads the result.
  if (!fired.ok) return done;
  const { block } = fired.value;
  if (block === undefined) return { ...done, out: annotated(done.out, fired.value) };
  const label = annotated(done.out, { ...fired.value, note: undefined }).label;
  const error = blocked('denied', `The call came to its end; its result is withheld (${block}).`);
  return { out: failedOut(tool, error, label) };
}

function annotated(out: ToolOut, { label, note }: Pick<HookAnswer, 'label'> & { note?: string | undefined }): ToolOut {
  if (label === undefined && note === undefined) return out;
  const joined = label === undefined ? out.label : joinLabels(out.label, label);
  return { ...out, label: joined, content: note === undefined ? out.content : withNote(out.content, note) };
}

function withNote(content: string | readonly Part[], note: string): string | readonly Part[] {
  if (typeof content === 'string') return content === '' ? note : `${content}\n\n${note}`;
  return Object.freeze([...content, Object.freeze({ type: 'text', text: note } as const)]);
}

function aboutCall({ call, args }: ParsedCall, { name, access }: Tool): HookCall {
  return { tool: name, callId: call.id, args, access };
}
