import { isPlainObject, type Json, sha256 } from '../core/json.ts';
import type { LineEffect, LineModelIn, StepLine } from './line.ts';

/** A line of any log as one without content has it: names, counts, sizes and hashes; nothing that was said. */
export function withoutContent(line: StepLine): StepLine {
  const { modelIn, modelOut, toolCalls, toolResults, effects, ...rest } = line;
  return {
    ...rest,
    ...(modelIn !== undefined && { modelIn: asked(modelIn) }),
    ...(modelOut !== undefined && { modelOut: turn(modelOut) }),
    ...(toolCalls !== undefined && { toolCalls: toolCalls.map((call) => sized(call, 'arguments')) }),
    ...(toolResults !== undefined && { toolResults: toolResults.map((result) => failure(sized(result, 'content'))) }),
    ...(effects !== undefined && { effects: effects.map(effect) }),
  };
}

type Fields = { readonly [name: string]: Json };

function fields(value: Json): Fields {
  return isPlainObject(value) ? (value as Fields) : {};
}

function asked({ new: added, from, hash, model, instructions, tools }: LineModelIn): LineModelIn {
  return {
    new: added.map(message),
    ...{ from, hash },
    ...(model !== undefined && { model }),
    ...(instructions !== undefined && { instructions: textSize(instructions) }),
    ...(Array.isArray(tools) && { tools: tools.map((tool) => fields(tool).name ?? tool) }),
  };
}

function message(given: Json): Json {
  const { role = '', callId, name, isError, content, chars, calls } = fields(given);
  const asks = Array.isArray(content) ? content.flatMap((part) => callName(fields(part))) : [];
  return {
    role,
    ...(callId !== undefined && { callId }),
    ...(name !== undefined && { name }),
    ...(isError !== undefined && { isError }),
    ...(calls !== undefined && { calls }),
    ...(asks.length > 0 && { calls: asks }),
    chars: chars ?? lengthOf(content),
  };
}

function callName({ type, name }: Fields): Json[] {
  return type === 'tool_call' && name !== undefined ? [name] : [];
}

function turn(given: Json): Json {
  const { error, stop, parts, chars, response, by, content } = fields(given);
  if (error !== undefined) return failure({ error });
  return {
    ...(stop !== undefined && { stop }),
    parts: parts ?? (Array.isArray(content) ? content.length : 0),
    chars: chars ?? lengthOf(content),
    ...(response !== undefined && { response }),
    ...(by !== undefined && { by }),
  };
}

/** With the size of a part in its place. */
function sized(given: Json, part: string): Fields {
  const { [part]: said, ...rest } = fields(given);
  return said === undefined ? rest : { ...rest, chars: lengthOf(said) };
}

/** With the kind of an error, without what it says. */
function failure(given: Fields): Fields {
  if (given.error === undefined) return given;
  const { message: _, ...error } = fields(given.error);
  return { ...given, error };
}

function effect({ outcome, ...at }: LineEffect): LineEffect {
  switch (at.kind) {
    case 'limit':
    case 'context':
    case 'gate':
      return { ...at, outcome };
    case 'model':
      return { ...at, outcome: failure(fields(outcome)) };
    case 'agent':
      return { ...at, outcome: failure(sized(outcome, 'text')) };
    case 'wait':
    case 'decision': {
      const { decision, tool, ok, error } = fields(outcome);
      if (ok === false) return { ...at, outcome: failure({ ok, ...(error !== undefined && { error }) }) };
      return { ...at, outcome: { decision: decision ?? null, ...(tool !== undefined && { tool }) } };
    }
    default: {
      const { ok, value, ...rest } = fields(outcome);
      if (ok === false || value === undefined) return { ...at, outcome: failure(fields(outcome)) };
      return { ...at, outcome: { ok: ok ?? true, ...textSize(value), ...keptParts(rest) } };
    }
  }
}

/** What a line without content has beside a value already. */
function keptParts({ chars, hash }: Fields): Fields {
  return { ...(chars !== undefined && { chars }), ...(hash !== undefined && { hash }) };
}

function textSize(value: Json): Fields {
  if (isPlainObject(value) && 'chars' in value && 'hash' in value) return value as Fields;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { chars: text.length, hash: sha256(text) };
}

/** Characters of a text or of the texts of parts. */
function lengthOf(content: Json | undefined): number {
  if (typeof content === 'string') return content.length;
  if (!Array.isArray(content)) return 0;
  return content.reduce<number>((sum, part) => sum + lengthOf(fields(part).text), 0);
}
