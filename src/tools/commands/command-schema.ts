import { short } from '../../core/schema/issue-text.ts';
import type { JsonSchema, StandardIssue, StandardSchema } from '../../core/schema/schema.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { CommandParameter, CommandPreset } from './preset.ts';

/** A call as a model writes it. */
export interface CommandCall {
  readonly preset: string;
  readonly params: { readonly [name: string]: string | number };
}

const MAX_TEXT = 4_096;
/** Some programs and people take these for `-`. */
const LOOK_ALIKE = /^[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/u;

/** The schema of the tool: an invalid call is refused before anybody is asked for approval. */
export function commandSchema(presets: ReadonlyMap<string, CommandPreset>): {
  readonly schema: StandardSchema<unknown, CommandCall>;
  readonly jsonSchema: JsonSchema;
} {
  const validate = (value: unknown) => {
    const issues = issuesOf(presets, value);
    if (issues.length > 0) return { issues };
    const { preset, params = {} } = value as Partial<CommandCall> & { preset: string };
    return { value: { preset, params } };
  };
  return {
    schema: { '~standard': { version: 1, vendor: 'coxswain', validate } },
    jsonSchema: shownSchema(presets),
  };
}

function shownSchema(presets: ReadonlyMap<string, CommandPreset>): JsonSchema {
  const properties = new Map<string, Json>();
  for (const [name, preset] of presets)
    for (const parameter of parametersOf(preset)) {
      const existing = properties.get(parameter.param);
      const own = `of ${name}${parameter.description === undefined ? '' : `: ${parameter.description}`}`;
      const before = isPlainObject(existing) ? `${String(existing.description)}; ` : '';
      const type = parameter.type === 'int' ? 'integer' : 'string';
      const isSame = existing === undefined || (isPlainObject(existing) && existing.type === type);
      properties.set(parameter.param, { ...(isSame && { type }), description: `${before}${own}` });
    }
  return {
    type: 'object',
    properties: {
      preset: { type: 'string', enum: [...presets.keys()] },
      params: { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false },
    },
    required: ['preset'],
    additionalProperties: false,
  };
}

/** The parameters of a preset, which a model fills. */
function parametersOf({ args = [] }: CommandPreset): readonly CommandParameter[] {
  return args.filter((arg) => typeof arg !== 'string');
}

function issuesOf(presets: ReadonlyMap<string, CommandPreset>, value: unknown): StandardIssue[] {
  if (!isPlainObject(value)) return [{ message: 'expected object' }];
  const { preset: name, params = {} } = value;
  const preset = typeof name === 'string' ? presets.get(name) : undefined;
  if (preset === undefined)
    return [
      {
        path: ['preset'],
        message: `expected one of ${[...presets.keys()].map((key) => JSON.stringify(key)).join(', ')}`,
      },
    ];
  if (!isPlainObject(params)) return [{ path: ['params'], message: 'expected object' }];
  const parameters = parametersOf(preset);
  const unknown = Object.keys(params).filter((key) => !parameters.some(({ param }) => param === key));
  const names = parameters.map(({ param }) => param).join(', ') || 'none';
  return [
    ...unknown.map((key) => ({
      path: ['params', key],
      message: `unknown parameter; those of ${String(name)} are: ${names}`,
    })),
    ...parameters.flatMap((parameter) => {
      const given = Object.hasOwn(params, parameter.param) ? params[parameter.param] : undefined;
      const problem = given === undefined ? missing(parameter) : problemOf(parameter, given);
      return problem === undefined ? [] : [{ path: ['params', parameter.param], message: problem }];
    }),
  ];
}

function missing({ optional, type }: CommandParameter): string | undefined {
  return optional === true ? undefined : `expected ${type === 'int' ? 'a whole number' : 'text'}`;
}

function problemOf(parameter: CommandParameter, given: unknown): string | undefined {
  if (parameter.type === 'int') {
    const { min, max } = parameter;
    const isFit = Number.isSafeInteger(given) && (given as number) >= min && (given as number) <= max;
    return isFit ? undefined : `expected a whole number from ${min} to ${max}`;
  }
  if (typeof given !== 'string') return 'expected text';
  if (parameter.type === 'choice')
    return parameter.of.includes(given)
      ? undefined
      : `expected one of ${parameter.of.map((item) => JSON.stringify(item)).join(', ')}`;
  const max = parameter.type === 'text' ? (parameter.maxLength ?? MAX_TEXT) : MAX_TEXT;
  if (given === '' && parameter.type === 'path') return 'expected a path';
  if (given.length > max) return `expected at most ${max} characters`;
  if (given.includes('\0') || !given.isWellFormed()) return 'expected text without NUL or lone surrogates';
  const isFree = parameter.prefix !== undefined || (parameter.type === 'text' && parameter.dash === true);
  if (!isFree && given.startsWith('-')) return `begins with '-': the program would take it for an option`;
  if (!isFree && LOOK_ALIKE.test(given)) return `begins with a look-alike of '-' (${short(JSON.stringify(given[0]))})`;
  return undefined;
}
