import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import type { ModelRequest, ToolChoice } from '../../core/values/model.ts';

/** Settings by their neutral names, and all others, which are sent under the API's own. */
export interface Settings {
  readonly temperature: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly parallelToolCalls: boolean | undefined;
  readonly reasoningEffort: string | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly more: { readonly [setting: string]: Json | undefined };
}

/**
 * Reads a request's settings over an adapter's `extra`.
 *
 * @param reserved what the adapter writes itself: a setting of that name would be lost or break the exchange
 * @throws ConfigurationError where a setting is reserved or of the wrong type
 */
export function readSettings(request: ModelRequest, extra: object | undefined, reserved: readonly string[]): Settings {
  const all: Given = extra === undefined ? request.settings : { ...extra, ...request.settings };
  return {
    temperature: typed('temperature', 'number', all.temperature),
    maxOutputTokens: typed('maxOutputTokens', 'number', all.maxOutputTokens),
    parallelToolCalls: typed('parallelToolCalls', 'boolean', all.parallelToolCalls),
    reasoningEffort: typed('reasoningEffort', 'string', all.reasoningEffort),
    toolChoice: request.toolChoice ?? choiceOf(all.toolChoice),
    more: others(all, reserved),
  };
}

type Given = { readonly [setting: string]: Json | undefined };

const NEUTRAL: ReadonlySet<string> = new Set([
  'temperature',
  'maxOutputTokens',
  'parallelToolCalls',
  'reasoningEffort',
  'toolChoice',
]);

function others(all: Given, reserved: readonly string[]): Given {
  const more: { [setting: string]: Json | undefined } = {};
  for (const name of Object.keys(all)) {
    if (NEUTRAL.has(name) || all[name] === undefined) continue;
    if (reserved.includes(name)) {
      throw new ConfigurationError(`settings.${name}`, 'is written by the model adapter', 'Leave it out.');
    }
    more[name] = all[name];
  }
  return more;
}

interface Types {
  readonly number: number;
  readonly boolean: boolean;
  readonly string: string;
}

function typed<Name extends keyof Types>(setting: string, type: Name, value: unknown): Types[Name] | undefined {
  if (value === undefined) return undefined;
  const got: string = typeof value;
  if (got === type) return value as Types[Name];
  throw new ConfigurationError(`settings.${setting}`, `expected a ${type}, got ${got}`, 'Leave it out.');
}

function choiceOf(value: unknown): ToolChoice | undefined {
  if (value === undefined || value === 'auto' || value === 'none' || value === 'required') return value;
  if (value !== null && typeof value === 'object' && 'name' in value && typeof value.name === 'string') {
    return { name: value.name };
  }
  throw new ConfigurationError(
    'settings.toolChoice',
    'is no choice',
    "Write 'auto', 'none', 'required' or { name: 'a_tool' }.",
  );
}
