import { JournalError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import type { Limits } from '../core/values/limits.ts';
import type { Message } from '../core/values/message.ts';
import type { StoredRun } from './record-store.ts';

/** What a run began with, as its first record has it: a resume starts from the top with the same. */
export interface Beginning {
  readonly brief: readonly Message[];
  /** The input of a procedure. */
  readonly value: unknown;
  readonly shared: { readonly [key: string]: unknown };
  /** The run's. */
  readonly limits: Limits;
  /** The root's own. */
  readonly agentLimits: Limits;
  /** The run that it is a detached child of. */
  readonly parentRun?: string;
  /** The form of this; absent in those of before there was a second. */
  readonly version?: number;
}

/** The newest form that is known. */
export const BEGINNING_VERSION = 1;

/** @throws JournalError where the run has no first record, or one that is newer, or is none of ours. */
export function beginningOf(run: StoredRun): Beginning {
  const first = run.rows.find(({ kind, event }) => kind === 'run' && event === 'started');
  const beginning: unknown = isPlainObject(first?.request) ? first.request.beginning : undefined;
  if (beginning === undefined) {
    throw new JournalError(`run ${run.id}: has no first record, so it never began. Start it anew.`);
  }
  const fault = faultIn(beginning);
  if (fault === undefined) return beginning as Beginning;
  throw new JournalError(`run ${run.id}: ${fault}`);
}

/** The messages of it; none where it is damaged. */
export function initialBrief(beginning: unknown): readonly Message[] {
  const brief = isPlainObject(beginning) ? beginning.brief : undefined;
  return Array.isArray(brief) && brief.every(isMessage) ? brief : [];
}

/** What is wrong with a stored beginning; undefined where nothing is. It is input like any other: its form is checked, its claims are not trusted. */
function faultIn(beginning: unknown): string | undefined {
  if (!isPlainObject(beginning)) return `its first record is damaged. ${COPY}`;
  const forbidden = forbiddenKey(beginning, 0);
  if (forbidden !== undefined) return `its first record has the forbidden key ${forbidden}. ${COPY}`;
  const { version = 0, brief, limits, agentLimits } = beginning;
  if (typeof version !== 'number' || version > BEGINNING_VERSION)
    return `its first record is of a newer coxswain (form ${String(version).slice(0, 20)}, this one knows ${BEGINNING_VERSION}). Update coxswain.`;
  const isWhole = Array.isArray(brief) && brief.every(isMessage) && isPlainObject(limits) && isPlainObject(agentLimits);
  return isWhole ? undefined : `its first record is damaged. ${COPY}`;
}

const COPY = 'Put a whole copy of the file back, or start a new run.';
const ROLES: readonly unknown[] = ['user', 'assistant', 'tool'];

function isMessage(value: unknown): value is Message {
  if (!isPlainObject(value) || !ROLES.includes(value.role)) return false;
  const { content, label } = value;
  return (typeof content === 'string' || Array.isArray(content)) && (label === undefined || isLabel(label));
}

function isLabel(label: unknown): boolean {
  if (!isPlainObject(label)) return false;
  const { integrity, confidentiality, origins } = label;
  const isKnown =
    (integrity === 'trusted' || integrity === 'untrusted') &&
    (confidentiality === 'public' || confidentiality === 'private' || confidentiality === 'secret');
  return isKnown && Array.isArray(origins) && origins.every((origin) => typeof origin === 'string');
}

/** A key that would change the prototype of an object it is copied to. */
function forbiddenKey(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
  for (const [key, one] of Object.entries(value)) {
    const reaches = key === '__proto__' || (key === 'constructor' && isPlainObject(one) && 'prototype' in one);
    const found = reaches ? key : forbiddenKey(one, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const MAX_DEPTH = 200;
