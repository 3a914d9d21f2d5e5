import type { Command } from 'commander';
import type { DecisionOptions } from '../decision-of.ts';
import type { AuditCommandOptions } from './audit-command.ts';
import type { ForkCommandOptions } from './fork-command.ts';
import type { ReplayCommandOptions } from './replay-command.ts';
import type { ResumeCommandOptions } from './run-command.ts';
import type { ShowOptions } from './show-command.ts';

const JOURNAL = ['--journal <file>', 'the journal; default COX_JOURNAL, else .runs/runs.db'] as const;
const WORDS = 'for a module that exports a function, its arguments';
const LOG = ['--log <file>', 'write the step log there instead of .runs/<run id>.jsonl'] as const;
const EVENTS = ['--json', 'write events and, last, the result to stdout, one JSON a line'] as const;
const ONE_JSON = ['--json', 'write one JSON document'] as const;

interface Common {
  readonly journal?: string;
  readonly json?: boolean;
}

/** The commands on runs in a journal. Each loads its code when it is called and passes its exit code to `ends`. */
export function addDurableCommands(program: Command, ends: (code: number) => void): void {
  addResuming(program, ends);
  addViews(program, ends);
  addControlCommands(program, ends);
}

function addResuming(program: Command, ends: (code: number) => void): void {
  program
    .command('resume')
    .description('Resume a run that was interrupted, suspended, or met a limit that is now larger.')
    .argument('<file>', 'the module of its agent')
    .argument('<run>', 'its id')
    .argument('[words...]', WORDS)
    .option(...JOURNAL)
    .option('--takeover', 'also if its process is alive; that process then stops')
    .option('--on-divergence <what>', 'if the code has changed: report (default), stop or fork')
    .option(...EVENTS)
    .option(...LOG)
    .option('--no-log', 'write no step log')
    .action(async (file: string, run: string, words: string[], options: ResumeCommandOptions) => {
      ends(await (await import('./run-command.ts')).resumeCommand(file, run, words, options));
    });
  program
    .command('replay')
    .description('Play a run again from its records: no model, no tool, the same events.')
    .argument('<file>', 'the module of its agent')
    .argument('<run>', 'its id')
    .argument('[words...]', WORDS)
    .option(...JOURNAL)
    .option('--until <point>', 'up to and with an address or a record')
    .option('--step', 'frame by frame: Enter continues, q ends')
    .option(...EVENTS)
    .action(async (file: string, run: string, words: string[], options: ReplayCommandOptions) => {
      ends(await (await import('./replay-command.ts')).replayCommand(file, run, words, options));
    });
  program
    .command('fork')
    .description('Start a new run with the records of another before a point.')
    .argument('<file>', 'the module of its agent')
    .argument('<run>', 'the run to fork')
    .argument('[words...]', WORDS)
    .requiredOption('--before <point>', 'the first record that is not copied: an address or a number')
    .option('--edit <key=value>', 'replace one recorded value before it: JSON, or text')
    .option(...JOURNAL)
    .option(...EVENTS)
    .option(...LOG)
    .option('--no-log', 'write no step log')
    .action(async (file: string, run: string, words: string[], options: ForkCommandOptions) => {
      ends(await (await import('./fork-command.ts')).forkCommand(file, run, words, options));
    });
}

function addViews(program: Command, ends: (code: number) => void): void {
  program
    .command('runs')
    .description('List the runs of a journal: state, tokens, age, pending requests.')
    .option(...JOURNAL)
    .option('--all', 'also those before the last 20')
    .option('--json', 'write one JSON a line')
    .action(async (options: Common & { readonly all?: boolean }) => {
      ends(await (await import('./runs-command.ts')).runsCommand(options));
    });
  program
    .command('show')
    .description('Show the steps of a run, or the request of one of its calls.')
    .argument('<run>', 'its id')
    .argument('[words...]', WORDS)
    .option(...JOURNAL)
    .option('--at <key>', 'the request of this call: lead/2/model')
    .option('--agent <file>', 'with --at: the module of its agent, to rebuild the request from the records')
    .option('--log <file>', 'with --at: a step log to read the request from')
    .option(...ONE_JSON)
    .action(async (run: string, words: string[], options: ShowOptions) => {
      ends(await (await import('./show-command.ts')).showCommand(run, words, options));
    });
  program
    .command('audit')
    .description('List every decision about a call of a run: allowed, asked, denied, by which rule or by whom.')
    .argument('<run>', 'its id')
    .option(...JOURNAL)
    .option('--chain', 'chain the entries by their hashes; keyed if COX_AUDIT_KEY is set')
    .option('--json', 'write one JSON a line')
    .action(async (run: string, options: AuditCommandOptions) => {
      ends(await (await import('./audit-command.ts')).auditCommand(run, options));
    });
  program
    .command('diff')
    .description('Show the first record, and the parts of it, in which two runs differ. Exits with 1 if they differ.')
    .argument('<a>', 'a run')
    .argument('<b>', 'another')
    .option(...JOURNAL)
    .option(...ONE_JSON)
    .action(async (a: string, b: string, options: Common) => {
      ends(await (await import('./diff-command.ts')).diffCommand(a, b, options));
    });
}

function addControlCommands(program: Command, ends: (code: number) => void): void {
  program
    .command('approve')
    .description('Decide a request that a run waits for: allow it, or as the options say. The first answer wins.')
    .argument('<run>', 'its id')
    .argument('<request>', 'the id of the request, as cox runs shows it')
    .option('--deny', 'do not allow it')
    .option('--reason <text>', 'why')
    .option('--args <json>', 'allow it with other arguments')
    .option('--always', 'also write a rule that allows such calls from now on')
    .option('--answer <json>', 'answer a question')
    .option('--happened [json]', 'a call whose outcome is unknown happened; its result')
    .option('--retry', 'execute it again')
    .option('--failed', 'it failed')
    .option(...JOURNAL)
    .option(...ONE_JSON)
    .action(async (run: string, request: string, options: Common & DecisionOptions) => {
      ends(await (await import('./signal-commands.ts')).approveCommand(run, request, options));
    });
  program
    .command('cancel')
    .description('Stop a run, or one invocation of it and everything below.')
    .argument('<run>', 'its id')
    .argument('[path]', 'the invocation: lead/2.0/researcher')
    .option('--reason <text>', 'why')
    .option(...JOURNAL)
    .option(...ONE_JSON)
    .action(async (run: string, path: string | undefined, options: Common & { readonly reason?: string }) => {
      ends(await (await import('./signal-commands.ts')).cancelCommand(run, path, options));
    });
  program
    .command('steer')
    .description('Send a message to a node of a run; it enters the transcript at its next step.')
    .argument('<run>', 'its id')
    .argument('<path>', 'the invocation: lead/2.0/researcher')
    .argument('<words...>', 'the message')
    .option(...JOURNAL)
    .option(...ONE_JSON)
    .action(async (run: string, path: string, words: string[], options: Common) => {
      ends(await (await import('./signal-commands.ts')).steerCommand(run, path, words, options));
    });
  program
    .command('prune')
    .description('Remove runs that are over; suspended and interrupted runs stay.')
    .requiredOption('--older-than <days>', 'ended so many days ago or earlier')
    .option(...JOURNAL)
    .option(...ONE_JSON)
    .action(async (options: Common & { readonly olderThan: string }) => {
      ends(await (await import('./runs-command.ts')).pruneCommand(options));
    });
}
