import { ConfigurationError } from '../../core/values/errors.ts';
import { isNamedGit } from './git-preset.ts';
import type { CommandParameter, CommandPreset } from './preset.ts';

type Argument = string | CommandParameter;
type ModelArgument = Extract<CommandParameter, { type: 'text' | 'path' }>;

/** Programs that execute the file which their first argument names, and may take any text for code. */
const SHELLS =
  /^(?:(?:ba|da|z|k|c|tc|a|fi|pw|mk|ya|r)?sh|cmd|powershell|eval|source|expect|tclsh|wish|make|gmake|ninja|m4|script|vi|vim|nvim|ex|ed|emacs|npx|bunx|uvx|pnpx)$/i;
/** Programs to which a text may be a command, though a file is data. */
const COMMANDERS =
  /^(?:su|runuser|ssh|watch|dc|gdb|lldb|tmux|screen|at|batch|crontab|sqlite3|psql|mysql|mariadb|parallel|entr|systemd-run|nc|ncat|socat|docker|podman|kubectl)$/i;
/** Programs whose first argument is code or a file with code. */
const INTERPRETERS =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python|pypy|perl|ruby|php|lua|luajit|awk|gawk|mawk|nawk|original-awk|sed|gsed|Rscript|R|julia|groovy|scala|elixir|java|ghci|runghc|octave|guile|racket|swipl|jshell|erl|escript|clojure|osascript|go|npm|pnpm|yarn|pipx|uv)[\d.]*$/i;
/** Subcommands of these programs whose first argument is it. */
const RUNS = /^(?:run|exec|x|dlx|eval|repl|create|tool)$/;
/** Options of these programs whose value is code, or a file or a module with code. */
const CODE_OPTION =
  /^(?:-[a-z]*[ecprfmMIEBxS]|-(?:ex|eval|exec|jar|cp|classpath|javaagent.*|require)|--(?:eval|exec|print|command|run|import|require|loader|experimental-loader|rcfile|init-file|expression|file|source|include|load|module|preload|config|plugin|env-file|node-options|test-reporter|experimental-config-file|snapshot-blob|script|start|startup-file|class-path|module-path))=?$/;
/** Options of other programs whose value is a command. */
const COMMAND_OPTIONS: { readonly [program: string]: RegExp } = {
  tar: /^(?:-I|-F|--(?:checkpoint-action|to-command|use-compress-program|info-script|new-volume-script|rsh-command|rmt-command))=?(?:exec=)?$/,
  rsync: /^(?:-e|--(?:rsh|rsync-path))=?$/,
  scp: /^(?:-o|-S|-o?ProxyCommand=?|-F)$/,
  sftp: /^(?:-o|-S|-F|-b)$/,
  sort: /^--compress-program=?$/,
  zip: /^(?:-TT|--unzip-command)=?$/,
  man: /^(?:-P|-H|--(?:pager|html))=?$/,
  less: /^\+$/,
  curl: /^(?:-K|--config)=?$/,
  rg: /^--pre=?$/,
  fd: /^(?:-x|-X|--exec|--exec-batch)=?$/,
};

interface Wrapper {
  /** Options that have a value in the next argument. */
  readonly values: RegExp;
  /** Arguments before the command. */
  readonly before: number;
}

/** Programs that start the command which stands behind their own options. */
const WRAPPERS: { readonly [program: string]: Wrapper } = {
  timeout: { values: /^(?:-k|-s|--kill-after|--signal)$/, before: 1 },
  env: { values: /^(?:-u|-C|--unset|--chdir)$/, before: 0 },
  nice: { values: /^(?:-n|--adjustment)$/, before: 0 },
  ionice: { values: /^(?:-c|-n|--class|--classdata)$/, before: 0 },
  nohup: { values: /^$/, before: 0 },
  setsid: { values: /^$/, before: 0 },
  stdbuf: { values: /^(?:-i|-o|-e|--input|--output|--error)$/, before: 0 },
  time: { values: /^(?:-f|-o|--format|--output)$/, before: 0 },
  sudo: { values: /^(?:-[ughpCDRTt]|--(?:user|group|host|prompt|chdir|chroot|role|type))$/, before: 0 },
  doas: { values: /^(?:-u|-C)$/, before: 0 },
  chroot: { values: /^$/, before: 1 },
  taskset: { values: /^$/, before: 1 },
  chrt: { values: /^(?:-[TPD])$/, before: 1 },
  flock: { values: /^(?:-w|-E|--timeout|--wait|--conflict-exit-code)$/, before: 1 },
  xargs: { values: /^(?:-[aEILnPsd]|--(?:arg-file|delimiter|max-lines|max-args|max-procs|max-chars))$/, before: 0 },
  busybox: { values: /^$/, before: 0 },
  toybox: { values: /^$/, before: 0 },
  strace: { values: /^(?:-[aebeEIoOpPsSuUX])$/, before: 0 },
  ltrace: { values: /^(?:-[aeFnopsuxX])$/, before: 0 },
  unshare: { values: /^(?:-[GRSw])$/, before: 0 },
  nsenter: { values: /^(?:-[tGSr])$/, before: 0 },
  bwrap: { values: /^$/, before: 0 },
  firejail: { values: /^$/, before: 0 },
  prlimit: { values: /^$/, before: 0 },
  command: { values: /^$/, before: 0 },
  exec: { values: /^(?:-a)$/, before: 0 },
  gosu: { values: /^$/, before: 1 },
  'su-exec': { values: /^$/, before: 1 },
  faketime: { values: /^(?:-f|-m|-p)$/, before: 1 },
  setarch: { values: /^$/, before: 1 },
  tini: { values: /^(?:-p|-e)$/, before: 0 },
  'dumb-init': { values: /^$/, before: 0 },
  eatmydata: { values: /^$/, before: 0 },
  fakeroot: { values: /^(?:-[lis])$/, before: 0 },
  numactl: { values: /^$/, before: 0 },
  setpriv: { values: /^$/, before: 0 },
  pkexec: { values: /^(?:--user)$/, before: 0 },
  'xvfb-run': { values: /^(?:-[efnpsw])$/, before: 0 },
  valgrind: { values: /^$/, before: 0 },
  unbuffer: { values: /^$/, before: 0 },
  chronic: { values: /^$/, before: 0 },
  'dbus-run-session': { values: /^$/, before: 0 },
  'cross-env': { values: /^$/, before: 0 },
};
/** Options of wrappers whose value is a whole line of a command. */
const LINE_OPTION = /^(?:-S|-c|--split-string|--command)=?$/;
/** What begins a command of `find`. */
const FIND_COMMAND = /^-(?:exec|execdir|ok|okdir)$/;
const MEND = 'Write a program that takes the text as data, or a fixed script with parameters of type choice or int.';

/**
 * Refuses a preset in which a known program would run what a model wrote. A shell with a fixed script is a program like any other;
 * a program of one's own that runs its arguments cannot be known.
 *
 * @throws ConfigurationError that names the argument.
 */
export function refuseCode(field: string, { file, args = [], unsafe }: CommandPreset): void {
  check(field, file, args, 0, unsafe === true);
}

function check(field: string, file: string, args: readonly Argument[], start: number, isUnsafe: boolean): void {
  const program = nameOf(file);
  const refuse = (index: number, problem: string): never => {
    throw new ConfigurationError(`${field}.args[${index}]`, problem, MEND);
  };
  if (!isUnsafe && ((start > 0 && isNamedGit(file)) || /^git-/.test(program)))
    throw new ConfigurationError(
      `${field}.${start > 0 ? `args[${start - 1}]` : 'file'}`,
      `${program} without the settings that git has in a preset may start programs that a repository names`,
      'Write git as the file of the preset, or unsafe: true if nobody else writes to the repository.',
    );
  for (let index = start; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined || !isOfModel(arg)) continue;
    const earlier = args.slice(start, index);
    const option = arg.prefix ?? String(earlier.at(-1) ?? '');
    if (COMMANDERS.test(program) && arg.type === 'text') refuse(index, asCode(program));
    if (SHELLS.test(program) && (arg.type === 'text' || !hasProgram(program, earlier))) refuse(index, asCode(program));
    if (INTERPRETERS.test(program) && isCode(program, arg, earlier)) refuse(index, asCode(program));
    if (Object.hasOwn(COMMAND_OPTIONS, program) && COMMAND_OPTIONS[program]?.test(option))
      refuse(index, asCode(program));
    const isOfFind = program === 'find' && !earlier.some((one) => FIND_COMMAND.test(String(one)));
    if (isOfFind && arg.type === 'text' && arg.dash === true) refuse(index, asCode(program));
  }
  if (program === 'find') {
    for (let index = start; index < args.length; index += 1)
      if (FIND_COMMAND.test(String(args[index]))) inner(field, program, args, index + 1, isUnsafe, refuse);
  } else if (Object.hasOwn(WRAPPERS, program)) inner(field, program, args, start, isUnsafe, refuse);
}

/** Checks the command behind a wrapper's own arguments. */
function inner(
  field: string,
  wrapper: string,
  args: readonly Argument[],
  start: number,
  isUnsafe: boolean,
  refuse: (index: number, problem: string) => never,
): void {
  const { values, before } = WRAPPERS[wrapper] ?? { values: /^$/, before: 0 };
  let left = before;
  for (let index = start; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined) return;
    const line = typeof arg === 'string' ? args[index - 1] : (arg.prefix ?? args[index - 1]);
    if (isOfModel(arg)) {
      if (LINE_OPTION.test(String(line)) || left === 0) refuse(index, `${wrapper} would start what the model names`);
      left -= 1;
      continue;
    }
    const texts = textsOf(arg);
    const [text = ''] = texts;
    const split = splitLine(text, args[index + 1]);
    if (wrapper === 'env' && split !== undefined) {
      const rest = args.slice(index + split.taken);
      inner(field, wrapper, [...args.slice(0, index), ...split.words, ...rest], index, isUnsafe, refuse);
      return;
    }
    if (text.startsWith('-') || (/env$/.test(wrapper) && /^\w+=/.test(text))) {
      if (values.test(text)) index += 1;
      continue;
    }
    if (left > 0) {
      left -= 1;
      continue;
    }
    for (const file of texts) check(field, file, args, index + 1, isUnsafe);
    return;
  }
}

/** The words of a fixed line that `env -S` splits, and how many arguments it is. */
function splitLine(
  option: string,
  next: Argument | undefined,
): { words: readonly string[]; taken: number } | undefined {
  const [, inItself] = /^(?:-[a-zA-Z]*S|--split-string=?)(.*)$/s.exec(option) ?? [];
  if (inItself === undefined) return undefined;
  const line = inItself === '' ? next : inItself;
  if (typeof line !== 'string') return undefined;
  return { words: line.split(/\s+/).filter((word) => word !== ''), taken: inItself === '' ? 2 : 1 };
}

/** Whether an interpreter takes an argument for code; `earlier` are the arguments before it. */
function isCode(program: string, arg: ModelArgument, earlier: readonly Argument[]): boolean {
  const previous = typeof earlier.at(-1) === 'string' ? String(earlier.at(-1)) : '';
  const option = arg.prefix ?? previous;
  // `sed` takes options behind its files too.
  if (SED.test(program) && ((arg.type === 'text' && arg.dash === true) || CODE_OPTION.test(option))) return true;
  if (hasProgram(program, earlier) || isValue(program, arg.prefix, previous)) return false;
  if (CODE_OPTION.test(option)) return true;
  // A path behind a fixed option is what that option works on: `node --test <path>`.
  return arg.type === 'text' || earlier.length === 0 || isScript(program) || RUNS.test(String(earlier[0]));
}

const AWK = /^(?:[gmn]?awk|original-awk)$/;
const SED = /^g?sed$/;

/** Programs whose code is a text of its own before the files. */
function isScript(program: string): boolean {
  return AWK.test(program) || SED.test(program);
}

/** Whether an argument is what an option of awk or sed takes, and no code. */
function isValue(program: string, prefix: string | undefined, previous: string): boolean {
  const options = AWK.test(program) ? OF_AWK : SED.test(program) ? OF_SED : undefined;
  return options !== undefined && (options.test(previous) || options.test(prefix ?? ''));
}

const OF_AWK = /^(?:-[Fv]|--(?:assign|field-separator)=?)$/;
const OF_SED = /^(?:-[li]|--(?:line-length|in-place)=?)$/;

/** Whether an argument before is the program: the first that is no option, or an option that has it in itself. */
function hasProgram(program: string, earlier: readonly Argument[]): boolean {
  return earlier.some((arg, index) => {
    if (typeof arg !== 'string') return arg.type === 'choice';
    if (arg.startsWith('-'))
      return isScript(program) && /^(?:-[a-zA-Z]*[ef].|--(?:expression|file|source)=.)/.test(arg);
    return !isValue(program, undefined, String(earlier[index - 1])) && !(index === 0 && RUNS.test(arg));
  });
}

/** The texts that an argument may be, where the developer wrote them. */
function textsOf(arg: Argument): readonly string[] {
  if (typeof arg === 'string') return [arg];
  return arg.type === 'choice' ? arg.of.map((text) => (arg.prefix ?? '') + text) : [];
}

function isOfModel(arg: Argument): arg is ModelArgument {
  return typeof arg === 'object' && (arg.type === 'text' || arg.type === 'path');
}

function nameOf(file: string): string {
  return (file.split(/[\\/]/).at(-1) ?? '').replace(/\.exe$/i, '');
}

function asCode(program: string): string {
  return `${program} would run the text of the model as code`;
}
