import { canonical, isPlainObject, type Json, sha256 } from '../../core/values/json.ts';
import type { LineEffect, LineModelIn, StepLine } from './line.ts';
import { OfferedNames } from './offered-names.ts';

/** The lines of any log without their content: names, counts, sizes and hashes remain. */
export function withoutContent(lines: readonly StepLine[]): StepLine[] {
  const offered = new Map<string, OfferedNames>();
  return lines.map((line) => {
    const of = `${line.runId} ${line.path}`;
    const names = offered.get(of) ?? new OfferedNames();
    offered.set(of, names);
    return withoutLineContent(line, names);
  });
}

function withoutLineContent(line: StepLine, offered: OfferedNames): StepLine {
  const { modelIn, modelOut, toolCalls, toolResults, effects } = line;
  if (Array.isArray(modelIn?.tools)) offered.add(modelIn.tools.map((tool) => String(fields(tool).name ?? tool)));
  return {
    ...facts(line),
    ...(modelIn !== undefined && { modelIn: request(modelIn, offered) }),
    ...(modelOut !== undefined && { modelOut: turn(modelOut) }),
    ...(toolCalls !== undefined && { toolCalls: toolCalls.map((one) => call(one, offered)) }),
    ...(toolResults !== undefined && { toolResults: toolResults.map((one) => result(one, offered)) }),
    ...(effects !== undefined && { effects: effects.map(effect) }),
  };
}

/** The fields of a line that are not content: address, times, status, spans, usage and cost. */
function facts(line: StepLine): StepLine {
  const { traceId, runId, agent, path, step, call, event, parentStep, spanId, time, durationMs } = line;
  const { usage, costUsd, status, spans, redactions } = line;
  const at = { traceId, runId, agent, path, step, call, event, parentStep, spanId, time, durationMs };
  return { ...at, usage, costUsd, status, spans, redactions } as StepLine;
}

type Fields = { readonly [name: string]: Json };

function fields(value: Json): Fields {
  return isPlainObject(value) ? (value as Fields) : {};
}

function request(
  { new: added, from, hash, model, instructions, tools }: LineModelIn,
  offered: OfferedNames,
): LineModelIn {
  return {
    new: added.map((one) => message(one, offered)),
    ...{ from, hash },
    ...(model !== undefined && { model }),
    ...(instructions !== undefined && { instructions: textSize(instructions) }),
    ...(Array.isArray(tools) && { tools: tools.map((tool) => fields(tool).name ?? tool) }),
  };
}

function message(given: Json, offered: OfferedNames): Json {
  const { role = '', callId, name, isError, content, chars, calls } = fields(given);
  const asks = Array.isArray(calls) ? calls : Array.isArray(content) ? content.flatMap(callName) : undefined;
  return {
    role,
    ...(callId !== undefined && { callId }),
    ...(name !== undefined && { name: offered.nameOf(String(name)) }),
    ...(isError !== undefined && { isError }),
    ...(role === 'assistant' && { calls: (asks ?? []).map((one) => offered.nameOf(String(one))) }),
    chars: chars ?? lengthOf(content),
  };
}

function callName(part: Json): Json[] {
  const { type, name } = fields(part);
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

function call(given: Json, offered: OfferedNames): Json {
  const { id = '', name = '', arguments: args, chars } = fields(given);
  return { id, name: offered.nameOf(String(name)), chars: chars ?? lengthOf(args) };
}

function result(given: Json, offered: OfferedNames): Json {
  const { callId = '', name: called = '', isError = false, content, chars, error } = fields(given);
  const size = chars ?? (content === undefined ? undefined : lengthOf(content));
  const name = fields(error ?? null).kind === 'unknown_tool' ? offered.nameOf(String(called)) : called;
  const facts = { callId, name, isError, ...(size !== undefined && { chars: size }) };
  return failure({ ...facts, ...(error !== undefined && { error }) });
}

/** Keeps the kind of an error and removes its message. */
function failure(given: Fields): Fields {
  if (given.error === undefined) return given;
  const { message: _, ...error } = fields(given.error);
  return { ...given, error };
}

function effect({ outcome, ...at }: LineEffect): LineEffect {
  switch (at.kind) {
    case 'limit':
    case 'gate':
      return { ...at, outcome };
    case 'context':
    case 'model':
      return { ...at, outcome: failure(fields(outcome)) };
    case 'agent': {
      const { status = '', text, chars, error } = fields(outcome);
      const facts = { status, chars: chars ?? lengthOf(text) };
      return { ...at, outcome: failure({ ...facts, ...(error !== undefined && { error }) }) };
    }
    case 'wait':
    case 'decision': {
      const { decision, tool, ok, error } = fields(outcome);
      if (ok === false) return { ...at, outcome: failure({ ok, ...(error !== undefined && { error }) }) };
      return { ...at, outcome: { decision: decision ?? null, ...(tool !== undefined && { tool }) } };
    }
    default: {
      const { ok = true, value, chars, hash, arrived, error } = fields(outcome);
      if (error !== undefined) return { ...at, outcome: failure({ ok, error }) };
      const size = { ...(chars !== undefined && { chars }), ...(hash !== undefined && { hash }) };
      const held = value === undefined ? size : textSize(value);
      return { ...at, outcome: { ok, ...held, ...(arrived !== undefined && { arrived }) } };
    }
  }
}

function textSize(value: Json): Fields {
  if (isPlainObject(value) && 'chars' in value && 'hash' in value) return value as Fields;
  const text = typeof value === 'string' ? value : canonical(value);
  return { chars: text.length, hash: sha256(text) };
}

/** Characters of a text or of the texts of parts. */
function lengthOf(content: Json | undefined): number {
  if (typeof content === 'string') return content.length;
  if (!Array.isArray(content)) return 0;
  return content.reduce<number>((sum, part) => sum + lengthOf(fields(part).text), 0);
}
