import { ModelError } from '../core/values/errors.ts';
import { deepFreeze, type Json } from '../core/values/json.ts';
import { type ToolCall, toolCallsOf } from '../core/values/message.ts';
import type { Model, ModelContext, ModelRequest, ModelTurn } from '../core/values/model.ts';
import type { CallUsage } from '../core/values/usage.ts';

/** One turn of a script: a whole turn, a text, an error that is thrown, or a function that makes one of these. */
export type ScriptedTurn = ModelTurn | string | Error | TurnFunction;
/** Makes a turn of the request; what it throws is the call's failure. */
export type TurnFunction = (request: ModelRequest, context: ModelContext) => ScriptedTurn | Promise<ScriptedTurn>;

/** Turns in the order of the calls, turns by agent, or one function for every call. */
export type Script = readonly ScriptedTurn[] | { readonly [agent: string]: readonly ScriptedTurn[] } | TurnFunction;

/** A scripted model with the requests that it received. */
export interface ScriptedModel extends Model {
  /** Every request so far, in the order of the calls; frozen copies. */
  readonly requests: readonly ModelRequest[];
}

/** Its facts; default provider and id: `scripted`. */
export type ScriptedModelOptions = Partial<
  Pick<Model, 'provider' | 'id' | 'limits' | 'retry' | 'timeoutMs' | 'needsMaxOutputTokens' | 'price' | 'server'>
>;

/**
 * A model with scripted turns, for tests. Give a tree its turns by agent, since the order of calls of different agents is not fixed. A
 * request after the end of the script is an error, never an empty turn.
 *
 * @example
 * const model = scriptedModel({
 *   lead: [callTools(toolCall('researcher', { task: 'Find it' })), 'Found: 42'],
 *   researcher: ['42'],
 * });
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  const used = new Map<string, number>();

  const next = (agent: string | undefined): ScriptedTurn => {
    if (typeof script === 'function') return script;
    const listed = isList(script);
    const key = listed ? '' : (agent ?? '');
    const turns = listed ? script : Object.hasOwn(script, key) ? script[key] : undefined;
    const name = agent === undefined ? 'an unnamed agent' : `agent "${agent}"`;
    if (turns === undefined) {
      throw scriptError(`there is no script for ${name}, only for ${listed ? '' : Object.keys(script).join(', ')}`);
    }
    const count = used.get(key) ?? 0;
    used.set(key, count + 1);
    const turn = turns[count];
    if (turn === undefined) {
      const had = `${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}`;
      throw scriptError(`the script is over: it had ${had}, and ${name} asked for turn ${count + 1}`);
    }
    return turn;
  };
  return Object.freeze({
    provider: 'scripted',
    id: 'scripted',
    ...options,
    requests,
    async generate(request, context) {
      context.signal.throwIfAborted();
      const seen = copyOf(request);
      requests.push(seen);
      let turn = next(context.agent);
      while (typeof turn === 'function') turn = await turn(seen, context);
      context.signal.throwIfAborted();
      if (turn instanceof Error) throw turn;
      const whole = typeof turn === 'string' ? say(turn) : turn;
      if (!Array.isArray(whole?.content)) throw scriptError('a turn is a text, an Error, or an object with content');
      showDeltas(whole, context);
      return whole;
    },
  } satisfies ScriptedModel);
}

function scriptError(problem: string): ModelError {
  return new ModelError('unknown', `scriptedModel: ${problem}`);
}

function isList(script: Exclude<Script, TurnFunction>): script is readonly ScriptedTurn[] {
  return Array.isArray(script);
}

/** Messages of a transcript are frozen, so they are shared; what is not frozen is copied. */
function copyOf(request: ModelRequest): ModelRequest {
  const copy = <T>(value: T): T => (Object.isFrozen(value) ? value : deepFreeze(structuredClone(value)));
  return Object.freeze({
    ...request,
    messages: Object.freeze(request.messages.map(copy)),
    tools: Object.freeze(request.tools.map(copy)),
    settings: copy(request.settings),
  });
}

/** A listener sees what a stream would show, in one piece each. */
function showDeltas({ content }: ModelTurn, { onDelta }: ModelContext): void {
  if (onDelta === undefined) return;
  let index = 0;
  for (const part of content) {
    if (part.type === 'tool_call') {
      onDelta({ type: 'tool_call', index: index++, id: part.id, name: part.name, arguments: part.arguments });
    } else if (part.text !== undefined) onDelta({ type: part.type, text: part.text });
  }
}

/** A turn with a text. */
export function say(text: string, usage?: CallUsage): ModelTurn {
  return deepFreeze({ content: [{ type: 'text', text }], stop: 'end', ...(usage === undefined ? {} : { usage }) });
}

/** A turn that calls tools, all at once. */
export function callTools(...calls: readonly ToolCall[]): ModelTurn {
  return deepFreeze({ content: toolCallsOf(calls), stop: 'tool_calls' });
}

let made = 0;

/** One call, for {@link callTools}. A text as `args` is the raw JSON that the model wrote, which may be invalid. */
export function toolCall(name: string, args: Json = {}, id = `call_${++made}`): ToolCall {
  return { type: 'tool_call', id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}
