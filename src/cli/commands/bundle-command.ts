import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, JournalError, messageOf } from '../../core/values/errors.ts';
import { beginningOf } from '../../journal/beginning.ts';
import { readRows } from '../../journal/read-row.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import { redactor } from '../../security/redaction/secrets.ts';
import { stepLines } from '../../telemetry/log/step-lines.ts';
import { withoutContent } from '../../telemetry/log/without-content.ts';
import { EXIT } from '../exit-code.ts';
import { journalFile, openJournal } from '../journal-file.ts';
import { LOG_FOLDER } from '../run-log.ts';
import { runSpent, runState } from '../run-state.ts';
import { runSteps } from '../run-steps.ts';
import { versions } from '../versions.ts';
import { report } from '../visible.ts';

export interface BundleOptions {
  readonly journal?: string;
  readonly log?: string;
  readonly out?: string;
  /** With the content of messages and calls. */
  readonly content?: boolean;
}

/** Variables that affect a run: the bundle lists which are set, never their values. */
const VARIABLES = /^(?:LLM_|COX_|OTEL_|NODE_|ANTHROPIC_|OPENAI_|HTTPS?_PROXY$|NO_PROXY$|TRACEPARENT$)/i;

/** `cox bundle`: one file for a bug report: log, records, configuration, versions; secrets redacted, content only with --content. */
export async function bundleCommand(runId: string, options: BundleOptions): Promise<number> {
  const stored = await storedRun(runId, options);
  const log = await logOf(runId, options);
  if (stored.run === undefined && log === undefined) {
    const got = `neither a journal nor a log knows ${runId}${stored.problem === undefined ? '' : ` (${stored.problem})`}`;
    throw new ConfigurationError('run', got, 'Name its journal (--journal runs.db) or its step log (--log run.jsonl).');
  }
  const content = options.content ? 'redacted' : 'none';
  const bundle = {
    ...{ bundle: 1, run: runId, created: new Date().toISOString(), content },
    versions: versions(),
    environment: Object.keys(process.env)
      .filter((name) => VARIABLES.test(name))
      .sort(),
    ...(stored.problem !== undefined && { journalProblem: stored.problem }),
    ...(stored.run !== undefined && { journal: journalPart(stored.run, content) }),
    ...(log !== undefined && { log: content === 'none' ? withoutContent(log) : log }),
  };
  write(options.out ?? `cox-bundle-${runId.replaceAll(':', '_')}.json`, `${JSON.stringify(bundle, redactor, 1)}\n`);
  return EXIT.done;
}

/** A journal that is damaged is what a report may be about. */
async function storedRun(runId: string, { journal }: BundleOptions): Promise<{ run?: StoredRun; problem?: string }> {
  if (!isFile(journalFile(journal))) {
    if (journal !== undefined) await openJournal(journal);
    return {};
  }
  const { store } = await openJournal(journal);
  try {
    const run = await store.read(runId);
    return run === undefined ? {} : { run };
  } catch (thrown) {
    if (!(thrown instanceof JournalError)) throw thrown;
    return { problem: thrown.message };
  } finally {
    store.close();
  }
}

async function logOf(runId: string, { log }: BundleOptions) {
  const file = log ?? join(LOG_FOLDER, `${runId.replaceAll(':', '_')}.jsonl`);
  if (log === undefined && !isFile(file)) return undefined;
  const lines = [];
  for await (const line of stepLines(file)) if (line.runId === runId) lines.push(line);
  return lines;
}

function journalPart(run: StoredRun, content: 'none' | 'redacted') {
  const { agent, status, epoch, records, created, updated, forkedFrom, pending } = run;
  const steps = runSteps(run.rows).map(({ text, ...step }) => (content === 'none' ? step : { ...step, text }));
  return {
    ...{ agent, status, state: runState(run, Date.now()), epoch, records, forkedFrom },
    ...{ created: new Date(created).toISOString(), updated: new Date(updated).toISOString() },
    ...runSpent(run),
    pending: pending.length,
    limits: limitsOf(run),
    agents: agentsOf(run),
    steps,
  };
}

function limitsOf(run: StoredRun) {
  try {
    const { limits, agentLimits } = beginningOf(run);
    return { run: limits, root: agentLimits };
  } catch {
    return undefined;
  }
}

/** Each agent once, as its first record has it. */
function agentsOf({ rows }: StoredRun) {
  const agents = new Map<string, object>();
  for (const row of readRows(rows)) {
    if (row.kind !== 'agent' || row.event !== 'started') continue;
    const { agent, type, model, modelLimits } = row.request;
    if (!agents.has(agent)) agents.set(agent, { agent, type, model, modelLimits });
  }
  return [...agents.values()];
}

function write(file: string, text: string): void {
  if (file === '-') {
    process.stdout.write(text);
    return;
  }
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch (thrown) {
    throw new ConfigurationError('--out', `${file} cannot be written (${messageOf(thrown)})`, 'Name another file.');
  }
  report(
    `${file}: ${Math.ceil(text.length / 1_024)} kB. Names of agents and tools are in it: look at it before you attach it.`,
  );
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}
