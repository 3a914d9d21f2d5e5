import { steadySchema } from '../../core/schema/steady-schema.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { canonical, isPlainObject, type Json, sha256 } from '../../core/values/json.ts';
import type { ToolCall } from '../../core/values/message.ts';
import type { ToolDefinition } from '../../core/values/model.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import type { Row } from '../../journal/row.ts';
import { REDACTED } from '../../security/redaction/secrets.ts';
import type { LineEffect, StepLine } from '../../telemetry/log/line.ts';
import { logParts, stepLine } from '../../telemetry/log/step-line.ts';
import { checkContent, checkPosition, type NumberedLine } from './logged-line.ts';

const WRITE = "Write it with jsonlLog(file, { content: 'full' }).";

/**
 * A run as a step log with full content tells it: the records that a replay needs. What the log does not hold is not compared
 * (the messages of a request follow from the rest), and times are those of its lines, in milliseconds.
 */
export function loggedRun(file: string, runId?: string): StoredRun & { readonly text: string } {
  const lines = linesOf(file);
  const ids = [...new Set(lines.map(({ line }) => line.runId))];
  const id = runId ?? ids[0];
  if (id === undefined) throw new ConfigurationError('log', `${file} holds no steps`, WRITE);
  if (!ids.includes(id) || (runId === undefined && ids.length > 1))
    throw new ConfigurationError('runId', `${file} holds the runs ${ids.join(', ')}`, 'Name one of them.');
  const own = checked(
    lines.filter(({ line }) => line.runId === id),
    file,
  );
  const reading = new Reading(own);
  const { agent, path, ...begun } = beginningOf(own, file);
  reading.begin({ shared: {}, limits: {}, agentLimits: {}, ...begun }, agent);
  for (const line of own) reading.take(line);
  const last = own.findLast((line) => line.path === path && line.event === 'end');
  const facts = { epoch: 1, created: 0, updated: 0, records: reading.rows.length, pending: [] };
  return {
    id,
    agent,
    status: endOf(last),
    rows: reading.rows,
    ...facts,
    text: textOf(last),
  };
}

/** Whether it has content at all is asked before the forms that its parts would have then. */
function checked(numbered: readonly NumberedLine[], file: string): readonly StepLine[] {
  for (const one of numbered) checkPosition(one, file);
  const lines = numbered.map(({ line }) => line);
  const roots = lines.filter(({ path, event }) => !path.includes('/') && event === 'start');
  const first = roots.find(({ modelIn, input }) => isPlainObject(modelIn) || input !== undefined);
  if (first === undefined) throw new ConfigurationError('log', `${file} does not say what its root began with`, WRITE);
  if (first.input === undefined && typeof first.modelIn?.instructions !== 'string')
    throw new ConfigurationError('log', `${file} was written without full content`, WRITE);
  for (const one of numbered) checkContent(one, file);
  return lines;
}

/** What the root began with: the messages of a model, the input of a procedure, whose brief follows from it. */
function beginningOf(lines: readonly StepLine[], file: string) {
  const roots = lines.filter(({ path, event }) => !path.includes('/') && event === 'start');
  const code = roots.find(({ input }) => input !== undefined);
  if (code !== undefined) return { agent: code.agent, path: code.path, brief: [], value: code.input ?? null };
  const first = roots.find(({ modelIn }) => modelIn !== undefined);
  if (first?.modelIn === undefined || first.modelIn.new.length === 0)
    throw new ConfigurationError('log', `${file} does not say what its root began with`, WRITE);
  const { agent, path, modelIn } = first;
  const isShared = asTools(modelIn.tools).some(({ name }) => name === 'shared_read');
  return { agent, path, brief: modelIn.new, ...(isShared && { shared: { shared: 'not in the log' } }) };
}

class Reading {
  readonly rows: Row[] = [];
  readonly #ends = new Map<string, StepLine>();
  readonly #last = new Map<string, StepLine>();
  readonly #begun = new Set<string>();
  readonly #parts = new Map<string, { model: string; request: Record<string, Json> }>();
  #time = 0n;

  constructor(lines: readonly StepLine[]) {
    for (const line of lines) {
      this.#last.set(line.path, line);
      if (line.event === 'end') this.#ends.set(addressOf(line), line);
    }
  }

  begin(beginning: Json, agent: string): void {
    this.#add({ kind: 'run', key: '@run', event: 'started', request: { agent, beginning } });
  }

  take(line: StepLine): void {
    this.#time =
      BigInt(Date.parse(line.time)) * 1_000_000n > this.#time ? BigInt(Date.parse(line.time)) * 1_000_000n : this.#time;
    const key = `${line.path}/${line.step}`;
    const isCall = line.call !== undefined;
    if (line.event === 'start') this.#start(line, key, isCall);
    else this.#end(line, key, isCall);
  }

  #start(line: StepLine, key: string, isCall: boolean): void {
    const { path, agent, step, modelIn } = line;
    if (modelIn !== undefined) this.#learn(path, modelIn);
    if (!this.#begun.has(path)) {
      this.#begun.add(path);
      const type = step === 0 ? 'code' : 'model';
      // A truncated log may not say which.
      const model = type === 'model' ? (this.#parts.get(path)?.model ?? '') : undefined;
      this.#add({
        kind: 'agent',
        key: path,
        event: 'started',
        step: 0,
        request: { agent, type, ...(model !== undefined && { model }) },
      });
    }
    if (step > 0 && !isCall) this.#add({ kind: 'step', key, event: 'started', step });
    const end = this.#ends.get(addressOf(line));
    if (step === 0) this.#calls(end, key);
    if (modelIn === undefined) return;
    const { call = 'model' } = line;
    // A call at another address has its whole address.
    const model = call.includes('/') ? call : `${key}/${call}`;
    this.#add({ kind: 'model', key: model, event: 'started', step, request: this.#parts.get(path)?.request });
    if (end === undefined) return;
    this.#turn(end, model);
    this.#calls(end, key);
  }

  #calls(end: StepLine | undefined, key: string): void {
    if (end === undefined) return;
    for (const { key: call, requested, ran } of this.#callsOf(end, key))
      if (ran) this.#add({ kind: 'tool', key: call, event: 'started', step: end.step, request: requested });
  }

  /** What stays the same in the requests of an invocation is in its lines once, and again when it changes. */
  #learn(path: string, { model, instructions, tools, settings, output }: NonNullable<StepLine['modelIn']>): void {
    const before = this.#parts.get(path);
    const request = { ...before?.request };
    const set = (part: string, hash: string | undefined) => {
      if (hash === undefined) delete request[part];
      else request[part] = hash;
    };
    if (typeof instructions === 'string')
      set('instructions', instructions.includes(REDACTED) ? undefined : sha256(instructions));
    if (tools !== undefined) set('tools', hash(asTools(tools).map(steadyTool)));
    // They include a bound that was worked out for the call.
    if (isPlainObject(settings)) set('settings', 'maxOutputTokens' in settings ? undefined : hash(settings));
    if (output !== undefined)
      set('output', isPlainObject(output) ? hash(steadySchema(output.schema as never)) : undefined);
    const name = model ?? before?.model ?? '';
    this.#parts.set(path, { model: name, request: { ...request, model: name } });
  }

  #turn({ modelOut, usage, costUsd, step }: StepLine, key: string): void {
    const { error } = (modelOut ?? {}) as { readonly error?: Json };
    if (error !== undefined) this.#add({ kind: 'model', key, event: 'failed', step, value: error });
    if (error !== undefined || !isPlainObject(modelOut)) return;
    const more = { ...(usage && { usage: usage as unknown as Json }), ...(costUsd !== undefined && { costUsd }) };
    this.#add({
      kind: 'model',
      key,
      event: 'done',
      step,
      value: { ...(modelOut as { [key: string]: Json }), ...more },
    });
  }

  #end(line: StepLine, key: string, isCall: boolean): void {
    const { path, step, status = 'completed', effects = [] } = line;
    if (!isCall) {
      for (const effect of effects) this.#effect(effect, step);
      for (const call of this.#callsOf(line, key))
        this.#add({ kind: 'tool', key: call.key, event: call.event, step, value: call.value });
      if (step > 0) this.#add({ kind: 'step', key, event: 'done', step });
    }
    if (this.#last.get(path) !== line || endOf(line) === 'running') return;
    this.#add({ kind: 'agent', key: path, event: 'done', step, value: { status } });
    if (!path.includes('/')) this.#add({ kind: 'run', key: '@run', event: 'done', step, value: { status } });
  }

  #callsOf({ toolResults = [], toolCalls = [] }: StepLine, step: string) {
    const calls = toolCalls as unknown as readonly ToolCall[];
    return (toolResults as unknown as readonly Result[]).map((result) => {
      const at = calls.findIndex(({ id }) => id === result.callId);
      // A procedure's calls have their address for an id.
      const key = at < 0 ? result.callId : `${step}.${at}`;
      const requested = { tool: result.name, ...givenOf(calls[at]?.arguments ?? result.arguments) };
      const ran = !(result.isError && REFUSED.has(result.error?.kind ?? ''));
      if (!result.isError) return { key, requested, ran, event: 'done', value: toolValueOf(result, at < 0) } as const;
      const error = result.error ?? { kind: 'threw', message: String(result.content), retryable: false };
      return { key, requested, ran, event: 'failed', value: ran ? error : { isError: true, error, ran } } as const;
    });
  }

  #effect({ key, kind, outcome }: LineEffect, step: number): void {
    const { ok, value, error } = outcome as { readonly ok?: boolean; readonly value?: Json; readonly error?: Json };
    if (kind === 'model' || kind === 'agent' || kind === 'diverged') return;
    const event = ok === false ? 'failed' : 'done';
    const given = ok === undefined ? outcome : ok ? value : error;
    this.#add({ kind: kind as Row['kind'], key, event, step, value: given });
  }

  #add(
    row: Pick<Row, 'kind' | 'key' | 'event'> & { step?: number; request?: Json | undefined; value?: Json | undefined },
  ) {
    this.#time += 1n;
    const { kind, key, event, step = 0, request, value } = row;
    const base = { record: this.rows.length + 1, kind, key, event, attempt: 1, epoch: 1, time: this.#time, step };
    this.rows.push({ ...base, request, value });
  }
}

interface Result {
  readonly callId: string;
  readonly name: string;
  readonly isError: boolean;
  /** Of a call that code made. */
  readonly arguments?: string;
  readonly form?: 'text' | 'json' | 'parts';
  readonly content?: Json;
  readonly error?: { readonly kind: string; readonly message: string; readonly retryable: boolean };
}

/** Errors of calls that never began. */
const REFUSED: ReadonlySet<string> = new Set(['unknown_tool', 'invalid_json', 'invalid_args', 'denied']);

/** What was written is compared by its hash, as a journal keeps it; a text that had a secret is not compared. */
function givenOf(written: string | undefined): { readonly given?: string; readonly written?: string } {
  return written === undefined || written.includes(REDACTED) ? {} : { given: sha256(written), written };
}

/** For code the value counts and not its text: where an older log does not say, what reads as JSON is taken for it. */
function toolValueOf({ form, content }: Result, forCode: boolean): Json {
  if (Array.isArray(content)) return { form: 'parts', content };
  const text = typeof content === 'string' ? content : '';
  if (form !== undefined || !forCode) return { form: form ?? 'text', content: text };
  try {
    JSON.parse(text);
    return { form: 'json', content: text };
  } catch {
    return { form: 'text', content: text };
  }
}

function addressOf({ path, step, call = '' }: StepLine): string {
  return `${path} ${step} ${call}`;
}

function hash(value: unknown): string {
  return sha256(canonical(value));
}

function asTools(tools: Json | undefined): readonly ToolDefinition[] {
  return Array.isArray(tools) ? (tools as unknown as readonly ToolDefinition[]) : [];
}

function steadyTool(tool: ToolDefinition): ToolDefinition {
  return { ...tool, parameters: steadySchema(tool.parameters) };
}

/** The last line of an invocation says how it ended; a step that called tools is not its last. */
function endOf(last: StepLine | undefined): string {
  const continues = last === undefined || (last.status === 'completed' && (last.toolCalls?.length ?? 0) > 0);
  return continues ? 'running' : (last.status ?? 'running');
}

/** The text that an invocation ended with; a procedure's is among its effects. */
function textOf(last: StepLine | undefined): string {
  const ended = last?.effects?.find(({ kind, key }) => kind === 'agent' && key === last.path)?.outcome;
  if (isPlainObject(ended) && typeof ended.text === 'string') return ended.text;
  const { content } = (last?.modelOut ?? {}) as { readonly content?: readonly { type: string; text?: string }[] };
  return (content ?? []).map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('');
}

function linesOf(file: string): NumberedLine[] {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  let texts: string[];
  try {
    texts = logParts(file).map((part) => readFileSync(part, 'utf8'));
  } catch {
    throw new ConfigurationError('log', `${file} cannot be read`, WRITE);
  }
  return texts.flatMap((text) =>
    text.split('\n').flatMap((written, index) => {
      const line = stepLine(written);
      return line === undefined ? [] : { line, number: index + 1 };
    }),
  );
}
