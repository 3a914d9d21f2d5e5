import type { ToolOut } from '../contract/boundary.ts';
import type { HookCall, HookResult } from '../contract/hooks.ts';
import type { Tool } from '../contract/tool.ts';
import { blocked, type Firing, fire, hooksFor } from '../runtime/fire.ts';
import type { HookAnswer } from '../runtime/hook-answer.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { parseArguments } from '../schema/parse-arguments.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import { joinLabels, type Label } from '../values/label.ts';
import type { Part } from '../values/message.ts';
import type { CallPlace, Dispatched, dispatch, OneAtATime } from './dispatch.ts';
import { dispatchEndorsed } from './endorse.ts';
import type { Requested } from './requested.ts';
import { failedOut } from './tool-call.ts';

type Dispatch = typeof dispatch;

/** A call with the hooks before and after it; without any it is only dispatched. */
export const dispatchHooked: Dispatch = (run, self, at, requested, label, oneAtATime) => {
  const before = hooksFor(run, self, 'beforeTool');
  const after = hooksFor(run, self, 'afterTool');
  if (before === undefined && after === undefined) return dispatchEndorsed(run, self, at, requested, label, oneAtATime);
  return hooked(run, self, at, requested, label, oneAtATime, { before, after });
};

type Fired = Firing['hooks'] | undefined;

async function hooked(
  run: RunContext,
  self: Invocation,
  at: CallPlace,
  requested: Requested,
  label: Label,
  oneAtATime: OneAtATime,
  hooks: { readonly before: Fired; readonly after: Fired },
): Promise<Dispatched> {
  const { tool } = requested;
  // It will not run whatever a hook says: the model reads its mistake.
  if (tool === undefined || requested.refused !== undefined)
    return dispatchEndorsed(run, self, at, requested, label, oneAtATime);
  const isPast = run.journal.recall('tool', at.key) !== undefined;
  const allowed = await before(run, self, { ...at, isPast }, requested, tool, label, hooks.before);
  const done = await dispatchEndorsed(run, self, at, allowed.requested, allowed.label, oneAtATime);
  if (hooks.after === undefined || allowed.requested.refused !== undefined) return done;
  return after(run, self, at, allowed.requested, tool, done, hooks.after);
}

/** Where a call stands, and whether it is on record. */
type BeforePlace = Pick<CallPlace, 'key' | 'step'> & { readonly isPast: boolean };

/** A call with the hooks before it: refused by them, or with the arguments that they gave, and the label that it then has. */
export function beforeCall(
  run: RunContext,
  self: Invocation,
  at: BeforePlace,
  requested: Requested,
  tool: Tool,
  label: Label,
): ReturnType<typeof before> {
  return before(run, self, at, requested, tool, label, hooksFor(run, self, 'beforeTool'));
}

async function before(
  run: RunContext,
  self: Invocation,
  at: BeforePlace,
  requested: Requested,
  tool: Tool,
  label: Label,
  hooks: Fired,
): Promise<{ readonly requested: Requested; readonly label: Label }> {
  if (hooks === undefined) return { requested, label };
  const { key, step, isPast } = at;
  const about: HookCall = aboutCall(requested, tool);
  const fired = await fire(run, self, {
    name: 'beforeTool',
    hooks,
    key,
    at: `${key}/@beforeTool`,
    step,
    about,
    isPast,
  });
  if (!fired.ok) return { requested: { ...requested, refused: fired.error }, label };
  const { block, args, label: worse } = fired.value;
  const joined = worse === undefined ? label : joinLabels(label, worse);
  if (block !== undefined) {
    const refused = blocked('denied', `Not run: it was blocked (${block}).`);
    return { requested: { ...requested, refused }, label: joined };
  }
  // What was shown to a person, or begun with, is on record.
  const isKnown = run.journal.has(key) || run.journal.has(`${key}/@approval`);
  return { requested: args === undefined || isKnown ? requested : changed(requested, tool, args), label: joined };
}

/** Judged as a model's are. */
function changed(requested: Requested, tool: Tool, args: Json): Requested {
  const parsed = parseArguments(JSON.stringify(args), tool.input);
  if (parsed.ok) return { ...requested, args: deepFreeze(parsed.value as Json) };
  const refused = {
    kind: parsed.kind,
    message: `Not run: a hook changed the arguments, and ${parsed.message}`,
    retryable: false,
  };
  return { ...requested, refused };
}

async function after(
  run: RunContext,
  self: Invocation,
  at: CallPlace,
  requested: Requested,
  tool: Tool,
  done: Dispatched,
  hooks: Firing['hooks'],
): Promise<Dispatched> {
  const { key, step } = at;
  const { content, isError } = done.out;
  const about: HookResult = { ...aboutCall(requested, tool), content, isError };
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
  if (block === undefined) return { ...done, out: remarked(done.out, fired.value) };
  const label = remarked(done.out, { ...fired.value, note: undefined }).label;
  const error = blocked('denied', `The call came to its end; its result is withheld (${block}).`);
  return { out: failedOut(tool, error, label) };
}

function remarked(out: ToolOut, { label, note }: Pick<HookAnswer, 'label'> & { note?: string | undefined }): ToolOut {
  if (label === undefined && note === undefined) return out;
  const joined = label === undefined ? out.label : joinLabels(out.label, label);
  return { ...out, label: joined, content: note === undefined ? out.content : withNote(out.content, note) };
}

function withNote(content: string | readonly Part[], note: string): string | readonly Part[] {
  if (typeof content === 'string') return content === '' ? note : `${content}\n\n${note}`;
  return Object.freeze([...content, Object.freeze({ type: 'text', text: note } as const)]);
}

function aboutCall({ call, args }: Requested, { name, access }: Tool): HookCall {
  return { tool: name, callId: call.id, args, access };
}
