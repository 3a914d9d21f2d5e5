import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { StepLine } from '../../telemetry/log/line.ts';

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const count: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const amount: Check = (value) => typeof value === 'number' && value >= 0;
const time: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const object: Check = isPlainObject;
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const oneOf =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
const shape =
  (fields: { readonly [name: string]: Check }): Check =>
  (value) =>
    isPlainObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

const error = shape({ kind: text, message: text });
const call = shape({ id: text, name: text, arguments: text });
const part: Check = (value) => {
  if (!isPlainObject(value)) return false;
  if (value.type === 'text') return text(value.text);
  return value.type === 'tool_call' ? call(value) : text(value.type);
};
const content = oneOf(text, listOf(part));
const tool = shape({ name: text, description: text, parameters: object });

type Fields = { readonly [field in keyof StepLine]?: Check };

/** The fields that every log has, whatever its content: where and when a line is. */
const POSITION: Fields = {
  agent: text,
  path: (value) => text(value) && value !== '',
  step: count,
  call: maybe(text),
  event: (value) => value === 'start' || value === 'end',
  time,
  status: maybe(text),
};

/** What a replay reads beside that; all else is not looked at. */
const CONTENT: Fields = {
  modelIn: maybe(
    shape({
      new: listOf(shape({ role: text, content: maybe(content) })),
      model: maybe(text),
      tools: maybe(oneOf((value) => value === null, listOf(tool))),
    }),
  ),
  modelOut: maybe(oneOf(shape({ error }), shape({ content: listOf(part) }))),
  toolCalls: maybe(listOf(call)),
  toolResults: maybe(
    listOf(shape({ callId: text, name: text, isError: flag, arguments: maybe(text), error: maybe(error) })),
  ),
  usage: maybe(shape({ inputTokens: count, outputTokens: count })),
  costUsd: maybe(amount),
  effects: maybe(listOf(shape({ key: text, kind: text, outcome: object }))),
};

/** A line with its number in its file, counted from 1. */
export interface NumberedLine {
  readonly line: StepLine;
  readonly number: number;
}

/** @throws ConfigurationError that names the line and the field, where a line does not say where and when it is. */
export function checkPosition(numbered: NumberedLine, file: string): void {
  check(numbered, POSITION, file);
}

/** @throws ConfigurationError that names the line and the field, where a part of a line has not the form that a replay relies on. */
export function checkContent(numbered: NumberedLine, file: string): void {
  check(numbered, CONTENT, file);
}

function check({ line, number }: NumberedLine, fields: Fields, file: string): void {
  for (const [field, isRight] of Object.entries(fields)) {
    if (isRight(line[field as keyof StepLine])) continue;
    throw new ConfigurationError(
      'log',
      `${file}, line ${number}: ${field} is not as a step log has it`,
      'It was changed or damaged: replay from the journal, or from a whole copy of the log.',
    );
  }
}
