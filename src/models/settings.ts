import { ConfigurationError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { ModelRequest, ToolChoice } from '../core/model.ts';

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
  const all: { readonly [setting: string]: Json | undefined } = { ...extra, ...request.settings };
  const { temperature, maxOutputTokens, parallelToolCalls, reasoningEffort, toolChoice, ...more } = all;
  for (const name of reserved) {
    if (more[name] !== undefined) {
      throw new ConfigurationError(`settings.${name}`, 'is written by the model adapter', 'Leave it out.');
    }
  }
  return {
    temperature: typed('temperature', 'number', temperature),
    maxOutputTokens: typed('maxOutputTokens', 'number', maxOutputTokens),
    parallelToolCalls: typed('parallelToolCalls', 'boolean', parallelToolCalls),
    reasoningEffort: typed('reasoningEffort', 'string', reasoningEffort),
    toolChoice: request.toolChoice ?? choiceOf(toolChoice),
    more,
  };
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
