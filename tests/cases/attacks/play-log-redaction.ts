import { readFileSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { ConfigurationError, defineAgent, defineTool, type Json, type ModelTurn, redaction, runAgent } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { otel, setupOtel } from 'coxswain/otel';
import { scriptedModel } from 'coxswain/testing';
import { receiver } from '../../telemetry/receiver.ts';
import type { Stage } from './set-up.ts';
import type { Shown } from './shown.ts';

interface Event {
  readonly registered?: string;
  readonly error?: ErrorWords;
  readonly tool_result?: Json;
  readonly tool_args?: { readonly [name: string]: Json };
  readonly assistant_text?: string;
  readonly url?: string;
  readonly value?: Json;
  readonly stream?: readonly string[];
  readonly span?: { readonly name: string; readonly attributes: { readonly [name: string]: string } };
  readonly throwingGetter?: boolean;
  readonly circular?: boolean;
  readonly exotic?: {
    readonly map?: readonly (readonly [string, Json])[];
    readonly set?: readonly Json[];
    readonly buffer?: string;
    readonly symbol?: Json;
  };
  readonly logPathIsLinkTo?: string;
}
interface ErrorWords {
  readonly name?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly headers?: unknown;
  readonly cause?: ErrorWords;
  readonly errors?: readonly ErrorWords[];
}

/** log-redaction: one run in which the event happens; what the step log and the collector of spans then hold. */
export async function playLogRedaction({ case: { input }, folder }: Stage): Promise<Shown> {
  const event = input.event as Event;
  const file = join(folder, 'log.jsonl');
  const privacy = redaction({ secrets: input.registeredSecrets as readonly string[] });
  if (event.registered !== undefined) privacy.add(event.registered);
  const refusal = event.logPathIsLinkTo === undefined ? undefined : refusedLink(folder, file, event.logPathIsLinkTo);
  const collector = await receiver();
  const setup = await setupOtel({ serviceName: 'case', endpoint: collector.endpoint, redaction: privacy });
  try {
    await runAgent(defineAgent({ name: 'clerk', instructions: 'Go.', tools: [toolOf(event)] }), 'go', {
      model: scriptedModel(turnsOf(event)),
      views: [jsonlLog(file, { content: 'redacted', redaction: privacy })],
      instrument: otel({ content: 'full', redaction: privacy }),
    });
  } finally {
    await setup.shutdown();
    collector.close();
  }
  const lines = readFileSync(file, 'utf8');
  const both = `${lines}\n${collector.bodies.join('\n')}`;
  const parsed = lines
    .trimEnd()
    .split('\n')
    .map((line) => attempt(() => JSON.parse(line) as { toolCalls?: unknown[]; redactions?: number }));
  return {
    outcome: refusal === undefined ? 'allowed' : 'denied',
    refusal,
    log: both,
    isCut: Buffer.byteLength(lines) < JSON.stringify(input).length,
    own: {
      'log-parses': () => parsed.every((line) => line !== undefined),
      // Of the step that made the call: a line that does not parse is one more.
      'log-lines': ({ n }) =>
        parsed.filter((line) => line === undefined || (line.toolCalls?.length ?? 0) > 0).length === n,
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may stand in a log
      'log-ascii-control-free': () => !/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/.test(lines),
      'log-bytes-at-most': ({ n }) => Buffer.byteLength(lines) <= Number(n),
      'audit-has': ({ fields }) => {
        const { redactions } = fields as { redactions?: number };
        return parsed.reduce((sum, line) => sum + (line?.redactions ?? 0), 0) === redactions;
      },
    },
  };
}

/** The log is refused where its path is a link; then the link is gone. */
function refusedLink(folder: string, file: string, target: string) {
  symlinkSync(join(folder, target), file);
  try {
    jsonlLog(file, { content: 'redacted' });
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    unlinkSync(file);
    return { kind: 'configuration', code: thrown.code, message: thrown.message };
  }
  return undefined;
}

function turnsOf({ assistant_text, stream, tool_args }: Event): ModelTurn[] {
  const args = JSON.stringify(tool_args ?? {});
  const call: ModelTurn = {
    content: [{ type: 'tool_call', id: 'c1', name: 'happen', arguments: args }],
    stop: 'tool_calls',
  };
  const text = assistant_text ?? stream?.join('') ?? 'done';
  return [call, { content: [{ type: 'text', text }], stop: 'end' }];
}

function toolOf(event: Event) {
  return defineTool({
    name: 'happen',
    description: 'Lets the event happen',
    access: 'read',
    input: { type: 'object' },
    execute() {
      if (event.error !== undefined) throw errorOf(event.error);
      if (event.span !== undefined) {
        const span = trace.getTracer('tool').startSpan(event.span.name, { attributes: event.span.attributes });
        span.addEvent(event.span.name, event.span.attributes);
        span.end();
      }
      return resultOf(event);
    },
  });
}

function resultOf(event: Event): unknown {
  if (event.throwingGetter === true)
    return {
      get field(): never {
        throw new Error(String(event.value));
      },
    };
  if (event.circular === true) {
    const self: { self?: unknown } = {};
    self.self = self;
    return self;
  }
  if (event.exotic !== undefined) {
    const { map = [], set = [], buffer = '', symbol } = event.exotic;
    return { map: new Map(map), set: new Set(set), buffer: Buffer.from(buffer), [Symbol('key')]: symbol };
  }
  if (event.url !== undefined || event.value !== undefined) return { url: event.url, value: event.value };
  return event.tool_result ?? 'ok';
}

function errorOf({ name, message = '', stack, headers, cause, errors }: ErrorWords): Error {
  const options = cause === undefined ? {} : { cause: errorOf(cause) };
  const error =
    errors === undefined ? new Error(message, options) : new AggregateError(errors.map(errorOf), message, options);
  if (name !== undefined) error.name = name;
  if (stack !== undefined) error.stack = stack;
  const given = Array.isArray(headers) ? new Map(headers as [string, string][]) : headers;
  return headers === undefined ? error : Object.assign(error, { headers: given });
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
