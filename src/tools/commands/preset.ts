import { ConfigurationError } from '../../core/values/errors.ts';
import { checkOneOf, checkOptions, checkPositive, checkText, checkWhole, shown } from '../../core/values/options.ts';
import { refuseCode } from './refuse-code.ts';

/** A program with its arguments, as the developer allows it. No shell reads them. */
export interface CommandPreset {
  /** A program's name, found at the start in the PATH outside of the workspace, or its absolute path. */
  readonly file: string;
  /** Fixed texts, and parameters that the model fills. Default none. */
  readonly args?: readonly (string | CommandParameter)[] | undefined;
  /** What the model reads. Default: the command itself. */
  readonly description?: string | undefined;
  /** Milliseconds; default 10,000. Then the whole tree of processes is ended. */
  readonly timeoutMs?: number | undefined;
  /** Characters of both outputs together; default 65,536. Passing it ends the tree. */
  readonly maxOutputChars?: number | undefined;
  /** Variables beside those of the tool. */
  readonly env?: { readonly [name: string]: string } | undefined;
  /**
   * Of git alone: true takes any subcommand and option, and leaves out the settings under which git starts no program that the
   * repository names. For repositories to which nobody else writes. Default false.
   */
  readonly unsafe?: boolean | undefined;
}

/** What a model may choose: one whole argument, or what follows `prefix` in it. */
export type CommandParameter = {
  readonly param: string;
  /** A prefix of the value in the same argument: `--max-count=`. */
  readonly prefix?: string | undefined;
  /** May be left out; then the whole argument is. Default false. */
  readonly optional?: boolean | undefined;
  readonly description?: string | undefined;
} & (
  | {
      readonly type: 'text';
      /** Characters; default 4,096. */
      readonly maxLength?: number | undefined;
      /**
       * Whether it may begin with `-`. Default false: a program would take it for an option. Without harm where the argument
       * before it is an option that takes a value, such as `-e` of grep, and after `--`.
       */
      readonly dash?: boolean | undefined;
    }
  | { readonly type: 'int'; readonly min: number; readonly max: number }
  | { readonly type: 'choice'; readonly of: readonly string[] }
  | {
      readonly type: 'path';
      /** Whether the file must exist. Default true; with false only its folder must. */
      readonly exists?: boolean | undefined;
    }
);

const PRESET = ['file', 'args', 'description', 'timeoutMs', 'maxOutputChars', 'env', 'unsafe'];
const COMMON = ['param', 'type', 'prefix', 'optional', 'description'];
const OF_TYPE: { readonly [type: string]: readonly string[] } = {
  text: ['maxLength', 'dash'],
  int: ['min', 'max'],
  choice: ['of'],
  path: ['exists'],
};
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;
/** @throws ConfigurationError that names the preset and the mend. */
export function checkPreset(field: string, preset: CommandPreset): void {
  checkOptions(field, preset, PRESET);
  checkText(`${field}.file`, preset.file, 'Name the program, such as "git".');
  if (preset.description !== undefined)
    checkText(`${field}.description`, preset.description, 'Say in a sentence what it does.');
  checkPositive(`${field}.timeoutMs`, preset.timeoutMs);
  checkWhole(`${field}.maxOutputChars`, preset.maxOutputChars, 1);
  checkEnv(`${field}.env`, preset.env);
  checkOneOf(`${field}.unsafe`, preset.unsafe, [true, false]);
  const args = preset.args ?? [];
  if (!Array.isArray(args)) throw new ConfigurationError(`${field}.args`, `got ${shown(args)}`, 'List the arguments.');
  const names = new Set<string>();
  for (const [index, arg] of args.entries()) {
    const at = `${field}.args[${index}]`;
    if (typeof arg === 'string') {
      if (arg.includes('\0')) throw new ConfigurationError(at, 'holds a NUL', 'No program takes it: leave it out.');
      continue;
    }
    checkParameter(at, arg);
    if (names.has(arg.param))
      throw new ConfigurationError(at, `two are named ${shown(arg.param)}`, 'Name each its own.');
    names.add(arg.param);
  }
  refuseCode(field, preset);
}

function checkParameter(field: string, arg: CommandParameter): void {
  checkOptions(field, arg, [...COMMON, ...(OF_TYPE[arg?.type] ?? [])]);
  checkOneOf(`${field}.type`, arg.type ?? null, Object.keys(OF_TYPE));
  if (typeof arg.param !== 'string' || !NAME.test(arg.param))
    throw new ConfigurationError(
      `${field}.param`,
      `illegal name ${shown(arg.param)}`,
      `A name matches ${NAME.source}.`,
    );
  checkOneOf(`${field}.optional`, arg.optional, [true, false]);
  if (arg.prefix !== undefined)
    checkText(`${field}.prefix`, arg.prefix, 'Write what stands before the value: "--max=".');
  switch (arg.type) {
    case 'text':
      checkWhole(`${field}.maxLength`, arg.maxLength, 1);
      checkOneOf(`${field}.dash`, arg.dash, [true, false]);
      return;
    case 'int':
      if (Number.isSafeInteger(arg.min) && Number.isSafeInteger(arg.max) && arg.min <= arg.max) return;
      throw new ConfigurationError(field, 'min and max are no whole numbers in order', 'Write { min: 1, max: 50 }.');
    case 'choice':
      if (Array.isArray(arg.of) && arg.of.length > 0 && arg.of.every((item) => typeof item === 'string' && item !== ''))
        return;
      throw new ConfigurationError(`${field}.of`, `got ${shown(arg.of)}`, "List the values: ['small', 'large'].");
    case 'path':
      checkOneOf(`${field}.exists`, arg.exists, [true, false]);
  }
}

/** Variables with fixed values. */
export function checkEnv(field: string, env: unknown): void {
  if (env === undefined) return;
  const isRecord = typeof env === 'object' && env !== null && !Array.isArray(env);
  if (
    isRecord &&
    Object.entries(env).every(([name, value]) => isVariable(name) && typeof value === 'string' && !value.includes('\0'))
  )
    return;
  throw new ConfigurationError(field, `got ${shown(env)}`, 'Give names and texts: { CI: "1" }.');
}

export function isVariable(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
