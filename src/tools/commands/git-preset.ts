import { realpathSync } from 'node:fs';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { shown } from '../../core/values/options.ts';
import type { CommandPreset } from './preset.ts';

const DIFF = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=all'];

/** The subcommands that a preset may have, each with the options under which it starts no program that a repository names. */
export const GIT_SUBCOMMANDS: { readonly [name: string]: readonly string[] } = {
  blame: ['--no-textconv'],
  branch: [],
  'cat-file': [],
  describe: [],
  diff: DIFF,
  'for-each-ref': [],
  grep: ['--no-textconv', '--no-recurse-submodules'],
  log: DIFF,
  'ls-files': [],
  'ls-tree': [],
  'merge-base': [],
  'name-rev': [],
  'rev-list': [],
  'rev-parse': [],
  shortlog: [],
  show: DIFF,
  'show-ref': [],
  status: ['--ignore-submodules=all'],
  version: [],
};

/** Options of git itself that may stand before the subcommand: none of them names a folder, a setting or a program. */
const GLOBAL: ReadonlySet<string> = new Set([
  ...['--no-pager', '-P', '--no-optional-locks', '--no-replace-objects', '--no-lazy-fetch', '--no-advice'],
  ...['--literal-pathspecs', '--glob-pathspecs', '--noglob-pathspecs', '--icase-pathspecs'],
]);

/** Options of the subcommands that would start what a repository names, or look into the settings of another one. */
const REFUSED = [
  ...['ext-diff', 'textconv', 'filters', 'remerge-diff', 'diff-merges', 'alternate-refs', 'open-files-in-pager'],
  ...['submodule', 'ignore-submodules', 'recurse-submodules', 'dirty', 'broken', 'edit-description', 'output'],
];
/** Complete options that a refused one begins with. */
const COMPLETE: ReadonlySet<string> = new Set(['text', 'filter']);
/** Values of a refused option that do no harm. */
const HARMLESS = /^--diff-merges=(?:off|none|on|1|m|first-parent|separate|c|combined|cc|dense-combined)$/;
/** `-O` of grep opens a pager; letters before it that take a value begin another text. */
const OPENS_PAGER = /^-[^-eABCfm\d]*O/;

/** Whether a program is git, also through a link of another name. */
export function isGit(program: string): boolean {
  return isNamedGit(program) || isNamedGit(realOf(program));
}

/** Whether a name is that of git. */
export function isNamedGit(program: string): boolean {
  return /(?:^|[\\/])git(?:\.exe)?$/i.test(program);
}

function realOf(program: string): string {
  try {
    return realpathSync(program);
  } catch {
    return program;
  }
}

/**
 * Checks a preset of git.
 *
 * @throws ConfigurationError that names the subcommand or option which is on no list.
 */
export function checkGitPreset(field: string, { args = [] }: CommandPreset): void {
  const refuse = (index: number, problem: string): never => {
    throw new ConfigurationError(
      `${field}.args[${index}]`,
      problem,
      `Write one of ${Object.keys(GIT_SUBCOMMANDS).join(', ')}, or unsafe: true if nobody else writes to the repository.`,
    );
  };
  const at = args.findIndex((arg) => typeof arg !== 'string' || !GLOBAL.has(arg));
  const command = args[at] ?? refuse(Math.max(0, args.length - 1), 'git has no subcommand');
  const names = typeof command === 'string' ? [command] : choicesOf(command);
  if (names === undefined) refuse(at, 'the subcommand of git is left to the model');
  const end = args.indexOf('--', at);
  const options = args.slice(0, end === -1 ? undefined : end);
  for (const name of names ?? []) {
    if (name.startsWith('-'))
      refuse(at, `the option ${shown(name)} of git may lead to programs that a repository names`);
    if (!Object.hasOwn(GIT_SUBCOMMANDS, name))
      refuse(at, `git ${shown(name)} may start programs that a repository names`);
    for (const [index, arg] of options.entries()) {
      const text = index > at ? textsOf(arg).find((one) => isRefused(name, one)) : undefined;
      if (text !== undefined)
        refuse(index, `the option ${shown(text)} of git may start programs that a repository names`);
    }
  }
}

function choicesOf(arg: Exclude<NonNullable<CommandPreset['args']>[number], string>): readonly string[] | undefined {
  return arg.type === 'choice' && arg.prefix === undefined && arg.optional !== true ? arg.of : undefined;
}

/** What is known of an argument when it is defined. */
function textsOf(arg: NonNullable<CommandPreset['args']>[number]): readonly string[] {
  if (typeof arg === 'string') return [arg];
  const prefix = arg.prefix ?? '';
  if (arg.type === 'choice') return arg.of.map((value) => prefix + value);
  return prefix === '' ? [] : [prefix];
}

function isRefused(command: string, arg: string): boolean {
  if (!arg.startsWith('-')) return false;
  if (command === 'grep' && OPENS_PAGER.test(arg)) return true;
  if (!arg.startsWith('--') || HARMLESS.test(arg)) return false;
  // Git takes the beginning of a long option for the option.
  const [name = ''] = arg.slice(2).split('=');
  return name !== '' && !COMPLETE.has(name) && REFUSED.some((refused) => refused.startsWith(name));
}

/**
 * The arguments of git with those options that keep its subcommand from starting programs.
 *
 * @throws ToolError for an option that a parameter brought in.
 */
export function gitArgs(args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg) => !GLOBAL.has(arg));
  const command = args[at] ?? '';
  const rest = args.slice(at + 1);
  const end = rest.indexOf('--');
  const refused = rest.slice(0, end === -1 ? undefined : end).find((arg) => isRefused(command, arg));
  if (refused !== undefined || !Object.hasOwn(GIT_SUBCOMMANDS, command))
    throw new ToolError('denied', `${shown(refused ?? command)} may start programs that a repository names.`, {
      code: 'command_bad_argument',
    });
  return ['--no-pager', ...args.slice(0, at), command, ...(GIT_SUBCOMMANDS[command] ?? []), ...rest];
}
