import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { RecordStore, StoredRun } from '../../journal/record-store.ts';
import { answeredOf, pendingOf } from '../../orchestration/entry/decide-run.ts';
import { readRun } from '../../orchestration/entry/resume-run.ts';
import { requestText } from '../durable.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { loadAgent } from '../load-module.ts';
import { jsonLine, visibleJson } from '../print-result.ts';
import { seconds, tokens } from '../progress-lines.ts';
import { loggedRequest, type ReplayedRequest, replayedRequest } from '../replayed-request.ts';
import { LOG_FOLDER } from '../run-log.ts';
import { runSpent, runState } from '../run-state.ts';
import { type RunStep, runSteps } from '../run-steps.ts';
import { visible } from '../visible.ts';

export interface ShowOptions {
  readonly journal?: string;
  readonly json?: boolean;
  /** A model or tool call: shows what was sent instead. */
  readonly at?: string;
  /** The agent's module, to play the run again. */
  readonly agent?: string;
  /** A step log, to read the request from. */
  readonly log?: string;
}

/** `cox show`: a run's steps as a tree, or the request of one. */
export async function showCommand(runId: string, words: readonly string[], options: ShowOptions): Promise<number> {
  const { at } = options;
  if (at === undefined && (options.agent ?? options.log) !== undefined)
    throw new ConfigurationError('--at', 'missing', 'Name the call whose request is to be shown: --at lead/2/model');
  if (at !== undefined) return showRequest(runId, at, words, options);
  const { store } = await openJournal(options.journal);
  try {
    const run = await readRun(store, runId);
    process.stdout.write(options.json ? jsonLine(documentOf(run)) : `${lines(run).join('\n')}\n`);
    return EXIT.done;
  } finally {
    store.close();
  }
}

function documentOf(run: StoredRun) {
  const { id, agent, status, epoch, created, updated, records, forkedFrom } = run;
  return {
    ...{ run: id, state: runState(run, Date.now()), status, agent, epoch, records },
    ...{ created: new Date(created).toISOString(), updated: new Date(updated).toISOString() },
    ...(forkedFrom !== undefined && { forkedFrom }),
    ...runSpent(run),
    pending: pendingOf(run),
    answered: answeredOf(run),
    steps: runSteps(run.rows),
  };
}

function lines(run: StoredRun): string[] {
  const { id, epoch, records, forkedFrom, created } = run;
  const { usage, costUsd } = runSpent(run);
  const cost = costUsd === undefined ? '' : `$${costUsd.toFixed(4)}, `;
  const fork = forkedFrom === undefined ? '' : `, forked from ${visible(forkedFrom)}`;
  const facts = `${tokens(usage)}${cost}${records} records, epoch ${epoch}, began ${new Date(created).toISOString()}`;
  return [
    `${visible(id)}  ${runState(run, Date.now())}: ${facts}${fork}`,
    ...runSteps(run.rows).map(stepLine),
    ...answeredOf(run).map((id) => `answered: ${visible(id)}`),
    ...pendingOf(run).map((request) => `waits: ${visible(request.id)}  ${requestText(request)}`),
  ];
}

function stepLine({ key, depth, status, text, usage, attempts, durationMs }: RunStep): string {
  const facts = [
    usage === undefined ? '' : tokens(usage).replace(/, $/, ''),
    durationMs === undefined ? '' : seconds(durationMs),
    attempts === 1 ? '' : `${attempts} attempts`,
  ].filter(Boolean);
  const factsText = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
  return `${'  '.repeat(depth)}${visible(key)}  ${status}${factsText}${text === '' ? '' : ` ${visible(text)}`}`;
}

async function showRequest(
  runId: string,
  key: string,
  words: readonly string[],
  options: ShowOptions,
): Promise<number> {
  const { request, source } = await requestAt(runId, key, words, options);
  if (request === undefined) {
    throw new ConfigurationError(
      '--at',
      `run ${runId} has no model or tool call ${key} with an outcome`,
      'cox show <run> lists its addresses.',
    );
  }
  const one = { run: runId, key, source, request };
  process.stdout.write(options.json ? jsonLine(one) : `${visibleJson(request, 2)}\n`);
  return EXIT.done;
}

/** From the log that is named, else from the records and the agent, else from the log that `cox run` wrote. */
async function requestAt(runId: string, key: string, words: readonly string[], options: ShowOptions) {
  if (options.log !== undefined) return { source: 'log', request: await loggedRequest(options.log, runId, key) };
  if (options.agent !== undefined) return { source: 'replay', request: await fromRecords(runId, key, words, options) };
  const log = join(LOG_FOLDER, `${runId.replaceAll(':', '_')}.jsonl`);
  if (statSync(log, { throwIfNoEntry: false }) !== undefined)
    return { source: 'log', request: await loggedRequest(log, runId, key) };
  throw new ConfigurationError(
    '--at',
    'a journal keeps hashes of requests, not the requests',
    'Name the agent’s module (--agent team.ts), which rebuilds them, or a step log (--log run.jsonl).',
  );
}

async function fromRecords(
  runId: string,
  key: string,
  words: readonly string[],
  { agent: file = '', journal }: ShowOptions,
): Promise<ReplayedRequest | undefined> {
  const { agent, options } = await loadAgent(file, words);
  const { store }: { readonly store: RecordStore } = await openJournal(journal, options.journal);
  try {
    return await replayedRequest(agent, store, runId, key);
  } finally {
    store.close();
  }
}
