import type { HookCall, HookResult } from '../contract/hooks.ts';
import { blocked, type Firing, fire } from '../runtime/fire.ts';
import type { HookAnswer } from '../runtime/hook-answer.ts';
import { hasEnded, hasFixedArguments } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { parseArguments } from '../schema/parse-arguments.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import { joinLabels } from '../values/label.ts';
import type { Part } from '../values/message.ts';
import type { ToolOut } from '../values/tool-value.ts';
import type { CallResult, CallSite, JudgedCall } from './call-site.ts';
import type { ParsedCall, RunnableCall } from './resolve-call.ts';
import { failedOut } from './tool-call.ts';

type Hooks = Firing['hooks'];

/**
 * Asks the hooks before a call, of which `kind` is what is recorded: a tool call, or a worker that a built-in tool starts. Gives the
 * call refused by them, or with the arguments and the label that it has after them. A call that is refused does not reach them: the
 * model reads its mistake.
 */
export async function hooksBefore<Site extends JudgedCall>(
  run: RunContext,
  site: Site,
  hooks: Hooks,
  kind: 'tool' | 'agent',
): Promise<Site> {
  const { self, key, step, parsed, label } = site;
  if (parsed.refused !== undefined) return site;
  const about: HookCall = aboutCall(parsed);
  const isPast = hasEnded(run, kind, key);
  const at = `${key}/@beforeTool`;
  const fired = await fire(run, self, { name: 'beforeTool', hooks, key, at, step, about, isPast });
  if (!fired.ok) return { ...site, parsed: { ...parsed, refused: fired.error } };
  const { block, args, label: worse } = fired.value;
  const joined = worse === undefined ? label : joinLabels(label, worse);
  if (block !== undefined) {
    const refused = blocked('denied', `Not run: it was blocked (${block}).`);
    return { ...site, parsed: { ...parsed, refused }, label: joined };
  }
  const isFixed = args === undefined || hasFixedArguments(run, key);
  return { ...site, parsed: isFixed ? parsed : withArguments(parsed, args), label: joined };
}

/** The arguments of a hook are read as a model's are. */
function withArguments(parsed: RunnableCall, given: Json): ParsedCall {
  const args = parseArguments(JSON.stringify(given), parsed.tool.input);
  if (args.ok) return { ...parsed, args: deepFreeze(args.value as Json) };
  const refused = {
    kind: args.kind,
    message: `Not run: a hook changed the arguments, and ${args.message}`,
    retryable: false,
  };
  return { ...parsed, refused };
}

/** Asks the hooks after a call: the result with what they added, or withheld by them. */
export async function hooksAfter(
  run: RunContext,
  site: CallSite,
  result: CallResult,
  hooks: Hooks,
): Promise<CallResult> {
  const { self, key, step, parsed } = site;
  if (parsed.refused !== undefined) return result;
  const { content, isError } = result.out;
  const about: HookResult = { ...aboutCall(parsed), content, isError };
  const at = `${key}/@afterTool`;
  const fired = await fire(run, self, { name: 'afterTool', hooks, key, at, step, about, isPast: false });
  // It was stopped: nothing that follows reads the result.
  if (!fired.ok) return result;
  const { block } = fired.value;
  if (block === undefined) return { ...result, out: annotated(result.out, fired.value) };
  const label = annotated(result.out, { ...fired.value, note: undefined }).label;
  const error = blocked('denied', `The call came to its end; its result is withheld (${block}).`);
  return { out: failedOut(parsed.tool, error, label) };
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

function aboutCall({ call, args, tool }: RunnableCall): HookCall {
  return { tool: tool.name, callId: call.id, args, access: tool.access };
}
