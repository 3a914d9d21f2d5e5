import { defineTool } from '../../core/call/define-tool.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { checkOneOf, checkOptions, checkWhole, shown } from '../../core/values/options.ts';
import { codeOf } from '../workspace/refusal.ts';
import { Workspace } from '../workspace/workspace.ts';
import { commandArguments, commandEnv } from './command-arguments.ts';
import { type CommandCall, commandSchema } from './command-schema.ts';
import { findProgram, searchPath } from './find-program.ts';
import { checkGitVersion, readGitFacts } from './git-facts.ts';
import { checkGitPreset, gitArgs, isGit } from './git-preset.ts';
import { type CommandPreset, checkEnv, checkPreset, isVariable } from './preset.ts';
import { type ProcessEnd, runProcess } from './run-process.ts';
import { type OpenSandbox, openSandbox, type Sandbox } from './sandbox.ts';

/** What {@link commandTool} takes. */
export interface CommandOptions {
  /** The folder in which commands run, and to which their paths are relative. It must exist. */
  readonly root: string;
  /** Presets by the name that the model uses. */
  readonly presets: { readonly [name: string]: CommandPreset };
  /** Default `run_command`. */
  readonly name?: string | undefined;
  /** Variables with fixed values, for all presets. */
  readonly env?: { readonly [name: string]: string } | undefined;
  /** Names of variables of the process that commands may see, beside PATH, HOME, USER, LANG and the like. */
  readonly passEnv?: readonly string[] | undefined;
  /** The sandbox of the commands. Default the best that works here: `bwrap`, `unshare`, else `process-group` with one process warning. */
  readonly sandbox?: Sandbox | undefined;
  /** Characters of a result that the model is shown, front and back. Default 16,000. */
  readonly maxResultChars?: number | undefined;
}

/** The result of a command. If an output was truncated, the call is an error with the text up to the limit. */
export interface CommandResult {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly sandbox: Sandbox;
  readonly durationMs: number;
  readonly stdout: string;
  readonly stderr: string;
}

const OPTIONS = ['root', 'presets', 'name', 'env', 'passEnv', 'sandbox', 'maxResultChars'];
const KINDS: readonly Sandbox[] = ['bwrap', 'unshare', 'process-group'];
const HERE = { names: [], isFolder: true, given: '.' } as const;
/** Beyond the command's own time: to end its tree and read what is left. */
const MARGIN_MS = 5_000;
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

/**
 * `run_command` (access `execute`, `ruleArg` `preset`): runs one of the commands that the developer wrote down, with parameters of
 * the model's where these allow it. No shell, no input, the workspace as its folder, an environment by list. When it ends,
 * by itself or by its limits, all that it started is ended.
 *
 * @throws ConfigurationError that names the preset: a program that is not there or lies in the workspace, a known program that
 *   would run the model's text, a subcommand of git that may start what a repository names, a sandbox that does not work here.
 * @example
 * commandTool({ root: 'site', presets: {
 *   test: { file: 'npm', args: ['test'], timeoutMs: 120_000 },
 *   log: { file: 'git', args: ['log', '--oneline', '-n', { param: 'n', type: 'int', min: 1, max: 50 }] },
 * } })
 */
export function commandTool(options: CommandOptions): LeafTool<CommandCall, CommandResult> {
  checkOptions('commandTool', options, OPTIONS);
  const { name = 'run_command', env, passEnv = [], maxResultChars } = options;
  const presets = readPresets(options.presets);
  checkEnv('commandTool.env', env);
  checkWhole('commandTool.maxResultChars', maxResultChars, 1_000);
  if (!Array.isArray(passEnv) || !passEnv.every(isVariable))
    throw new ConfigurationError('commandTool.passEnv', `got ${shown(passEnv)}`, 'List names of variables: ["CI"].');
  const workspace = new Workspace({ root: options.root, field: 'commandTool' });
  const folders = searchPath(process.env.PATH, workspace.root);
  const programs = new Map(
    [...presets].map(([key, preset]) => {
      const field = `commandTool.presets.${key}`;
      const program = findProgram(preset.file, folders, workspace.root, `${field}.file`);
      const isSafeGit = preset.unsafe !== true && isGit(program);
      if (isSafeGit) {
        checkGitPreset(field, preset);
        checkGitVersion(field, program);
      }
      return [key, { program, isSafeGit }];
    }),
  );
  const sandbox = chooseSandbox(options.sandbox, workspace.root, folders);
  const slowest = Math.max(...[...presets.values()].map(({ timeoutMs = 10_000 }) => timeoutMs));
  return defineTool({
    name,
    description: description(presets),
    access: 'execute',
    ruleArg: 'preset',
    sandbox: sandbox.kind,
    input: commandSchema(presets),
    timeoutMs: slowest + MARGIN_MS,
    maxResultChars: maxResultChars ?? 16_000,
    async execute(call, context): Promise<CommandResult> {
      const preset = presets.get(call.preset) as CommandPreset;
      const { program, isSafeGit } = programs.get(call.preset) as { program: string; isSafeGit: boolean };
      const given = await commandArguments(workspace, preset, call.params);
      const own = { searchPath: folders, passEnv, env: { ...env, ...preset.env } };
      const plan = {
        ...sandbox.wrap(program, isSafeGit ? gitArgs(given) : given),
        timeoutMs: preset.timeoutMs ?? 10_000,
        maxOutputChars: preset.maxOutputChars ?? 65_536,
        signal: context.signal,
      };
      const end = await workspace.inFolder(HERE, async ({ address: cwd }) => {
        try {
          const git = isSafeGit ? await readGitFacts(program, sandbox, own, { ...plan, cwd }) : undefined;
          return await runProcess({ ...plan, cwd, env: commandEnv({ ...own, git }) });
        } catch (thrown) {
          throw notStarted(call.preset, thrown);
        }
      });
      return result(call.preset, plan, sandbox.kind, end, context);
    },
  });
}

function readPresets(given: unknown): ReadonlyMap<string, CommandPreset> {
  if (!isPlainObject(given) || Object.keys(given).length === 0)
    throw new ConfigurationError(
      'commandTool.presets',
      `got ${shown(given)}`,
      'Give at least one: { test: { file: "npm", args: ["test"] } }.',
    );
  for (const [name, preset] of Object.entries(given)) {
    if (!NAME.test(name))
      throw new ConfigurationError(
        'commandTool.presets',
        `illegal name ${shown(name)}`,
        `A name matches ${NAME.source}.`,
      );
    checkPreset(`commandTool.presets.${name}`, preset as CommandPreset);
  }
  return new Map(Object.entries(structuredClone(given) as { [name: string]: CommandPreset }));
}

function description(presets: ReadonlyMap<string, CommandPreset>): string {
  const lines = [...presets].map(([name, { description, file, args = [] }]) => {
    const shown = args.map((arg) => (typeof arg === 'string' ? arg : `${arg.prefix ?? ''}<${arg.param}>`));
    return `- ${name}: ${description ?? [file, ...shown].join(' ').slice(0, 200)}`;
  });
  return `Runs a command in the workspace. The presets are:\n${lines.join('\n')}`;
}

function chooseSandbox(wanted: Sandbox | undefined, root: string, folders: readonly string[]): OpenSandbox {
  checkOneOf('commandTool.sandbox', wanted, KINDS);
  const found = openSandbox(wanted === undefined ? KINDS : [wanted], root, folders);
  if (found === undefined)
    throw new ConfigurationError(
      'commandTool.sandbox',
      `${shown(wanted)} does not work here`,
      'Install it, or leave the option out.',
    );
  if (found.kind === 'process-group' && wanted === undefined) warnOnce();
  return found;
}

function result(
  preset: string,
  { timeoutMs, maxOutputChars }: { readonly timeoutMs: number; readonly maxOutputChars: number },
  sandbox: Sandbox,
  end: ProcessEnd,
  { signal }: ToolContext,
): CommandResult {
  const { exitCode, signal: by, stoppedBy, stdout, stderr, durationMs } = end;
  const had = `\nstdout:\n${stdout}\nstderr:\n${stderr}`;
  switch (stoppedBy) {
    case 'abort':
      throw signal.reason;
    case 'timeout':
      throw new ToolError(
        'timeout',
        `${preset} was ended after ${timeoutMs} ms, with all that it started (${sandbox}).${had}`,
        {
          code: 'command_timeout',
        },
      );
    case 'output': {
      const problem = `${preset} wrote more than ${maxOutputChars} characters, so it was ended, with all that it started (${sandbox}); ${end.truncated} is cut.`;
      throw new ToolError('threw', `${problem}${had}`, { code: 'command_output_limit' });
    }
    case undefined:
      return { exitCode, signal: by, sandbox, durationMs, stdout, stderr };
  }
}

function notStarted(preset: string, thrown: unknown): unknown {
  const code = codeOf(thrown);
  return code === undefined ? thrown : new ToolError('threw', `${preset} could not be started (${code})`);
}

let warned = false;

function warnOnce(): void {
  if (warned) return;
  warned = true;
  process.emitWarning(
    'commandTool: neither bwrap nor unshare works here. A process that leaves its group, its parents and its environment may outlive its command.',
    'CoxswainWarning',
  );
}
