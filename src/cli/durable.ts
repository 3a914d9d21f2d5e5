import type { ApprovalRequest, WaitRequest } from '../core/contract/permission.ts';
import type { RunResult } from '../core/contract/result.ts';
import type { RecordStore } from '../journal/record-store.ts';
import type { OpenJournal } from './journal-file.ts';
import type { Loaded } from './load-module.ts';
import { firstWords, shellLine } from './visible.ts';

/** The journal of a run, and the commands that continue it. */
export interface Durable {
  readonly store: RecordStore;
  resume(runId: string): string;
  /** The command that decides a request, without the decision. */
  approve(runId: string, id: string): string;
}

/** The commands for a run in a journal. */
export function durableRun(file: string, { store, named }: OpenJournal, { words }: Loaded): Durable {
  const dashes = words.some((word) => word.startsWith('-')) ? ['--'] : [];
  return {
    store,
    resume: (runId) => shellLine(['cox', 'resume', ...named, file, runId, ...dashes, ...words]),
    approve: (runId, id) => shellLine(['cox', 'approve', ...named, runId, id]),
  };
}

/** The pending requests of a parked run; with a journal also the command for each. */
export function parkedLines(result: RunResult, durable: Durable | undefined): string[] {
  if (result.status !== 'suspended') return [];
  return result.pending.flatMap((request) => {
    const line = `  waits: ${request.id}  ${requestText(request)}`;
    if (durable === undefined) return [line];
    return [line, `  to answer: ${durable.approve(result.runId, request.id)}${decisionOptions(request)}`];
  });
}

/** A request in a line. */
export function requestText(request: ApprovalRequest | WaitRequest): string {
  const { path } = request;
  if (request.reason === 'wait') return `${path} asks: ${firstWords(JSON.stringify(request.request), 400)}`;
  const call = `${request.tool} ${firstWords(JSON.stringify(request.args), 400)}`;
  if (request.reason === 'data') return `${path} asks whether to trust the result of ${request.tool}`;
  if (request.reason === 'unknown') return `${path} does not know whether this happened: ${call}`;
  return `${path} asks to call ${call}`;
}

/** The options that decide it. */
function decisionOptions({ reason }: ApprovalRequest | WaitRequest): string {
  if (reason === 'wait') return " --answer '<json>'";
  return reason === 'unknown' ? ' --happened, --retry or --failed' : ' (or --deny)';
}

/** A point of a run: a record by its number, or an address. */
export function pointOf(text: string): { readonly record: number } | { readonly key: string } {
  return /^\d+$/.test(text) ? { record: Number(text) } : { key: text };
}
