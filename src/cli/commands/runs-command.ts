import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import { ConfigurationError, JournalError } from '../../core/values/errors.ts';
import { NO_USAGE } from '../../core/values/usage.ts';
import type { RecordStore, RunSummary } from '../../journal/record-store.ts';
import { answeredOf, pendingOf } from '../../orchestration/entry/decide-run.ts';
import { requestText } from '../durable.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { seconds, tokens } from '../progress-lines.ts';
import { runSpent, runState } from '../run-state.ts';
import { report, visible } from '../visible.ts';

const SHOWN = 20;

/** `cox runs`: the runs of a journal, the newest last. */
export async function runsCommand(options: {
  readonly all?: boolean;
  readonly journal?: string;
  readonly json?: boolean;
}): Promise<number> {
  const { store } = await openJournal(options.journal);
  try {
    const runs = await store.list();
    const listed = options.all ? runs : runs.slice(-SHOWN);
    for (const run of listed) {
      const facts = await factsOf(store, run);
      process.stdout.write(options.json ? jsonLine(facts) : `${lines(facts).join('\n')}\n`);
    }
    if (runs.length === 0) report('no runs');
    if (listed.length < runs.length) report(`${runs.length - listed.length} older ones: cox runs --all`);
    return EXIT.done;
  } finally {
    store.close();
  }
}

async function factsOf(store: RecordStore, run: RunSummary) {
  const { id, agent, status, epoch, created, updated, records, forkedFrom, owner } = run;
  const stored = await read(store, id);
  const times = { created: new Date(created).toISOString(), updated: new Date(updated).toISOString() };
  const state = stored === undefined ? 'damaged' : runState(run, Date.now());
  return {
    ...{ run: id, state, status, agent, ...times, ageMs: Date.now() - created, epoch, records },
    ...(forkedFrom !== undefined && { forkedFrom }),
    ...(owner !== undefined && { owner }),
    ...(stored === undefined ? { usage: NO_USAGE } : runSpent(stored)),
    pending: stored === undefined ? [] : pendingOf(stored),
    answered: stored === undefined ? [] : answeredOf(stored),
  };
}

/** A damaged run does not hide the others. */
async function read(store: RecordStore, id: string) {
  try {
    return await store.read(id);
  } catch (thrown) {
    if (thrown instanceof JournalError) return undefined;
    throw thrown;
  }
}

type Facts = Awaited<ReturnType<typeof factsOf>>;

function lines({ run, state, agent, ageMs, usage, costUsd, pending, answered, forkedFrom }: Facts): string[] {
  const cost = costUsd === undefined ? '' : `$${costUsd.toFixed(4)}, `;
  const fork = forkedFrom === undefined ? '' : `, forked from ${visible(forkedFrom)}`;
  const head = `${visible(run)}  ${state.padEnd(10)} ${visible(agent)}  ${tokens(usage)}${cost}${age(ageMs)} ago${fork}`;
  return [
    head,
    ...answered.map((id) => `  answered: ${visible(id)}`),
    ...pending.map(
      (request: ApprovalRequest | WaitRequest) => `  waits: ${visible(request.id)}  ${requestText(request)}`,
    ),
  ];
}

/** An age in its largest unit. */
export function age(ms: number): string {
  if (ms < 60_000) return seconds(Math.max(0, ms));
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 2 * 86_400_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} days`;
}

const DAY_MS = 86_400_000;

/** `cox prune`: removes runs that ended so many days ago. Those that can be resumed stay. */
export async function pruneCommand(options: {
  readonly olderThan: string;
  readonly journal?: string;
  readonly json?: boolean;
}): Promise<number> {
  const days = Number(options.olderThan);
  if (options.olderThan.trim() === '' || !(days >= 0) || !Number.isFinite(days))
    throw new ConfigurationError('--older-than', `got ${options.olderThan}`, 'Give a number of days: --older-than 30');
  const { store } = await openJournal(options.journal);
  try {
    const removed = await store.prune(Date.now() - days * DAY_MS);
    if (options.json) process.stdout.write(jsonLine({ removed }));
    else {
      for (const id of removed) process.stdout.write(`${visible(id)}\n`);
      report(`${removed.length} ${removed.length === 1 ? 'run' : 'runs'} removed`);
    }
    return EXIT.done;
  } finally {
    store.close();
  }
}
