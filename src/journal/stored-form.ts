import type { AgentOut } from '../core/contract/boundary.ts';
import type { Draft } from '../core/contract/record.ts';
import type { Call, Outcome, Work } from '../core/runtime/journal.ts';
import type { Kind, StoredCallEnd, StoredEntry, StoredEventOf, StoredSums } from '../core/runtime/stored-entry.ts';
import { sha256 } from '../core/values/json.ts';
import type { ToolOut } from '../core/values/tool-value.ts';

/*
 * The only writer of what is stored: what a resume, a list of runs or a trace needs of a record, never the history again. Its
 * reader is read-row.ts; both have their types from stored-entry.ts.
 */

export interface StoredForm {
  readonly request: unknown;
  readonly value: unknown;
}

/** The stored form of a boundary. */
export function boundaryForm(draft: Draft): StoredForm {
  switch (draft.kind) {
    case 'run': {
      if (draft.event !== 'started')
        return form('run', draft.event, undefined, { ...sumsOf(draft.value), label: draft.value.label });
      // The brief is part of `beginning`.
      const { input: _input, ...request } = draft.request;
      return form('run', 'started', request, undefined);
    }
    case 'agent': {
      if (draft.event === 'done') return form('agent', 'done', undefined, sumsOf(draft.value));
      const { agent, type, depth, model, modelLimits, apart } = draft.request;
      return form('agent', 'started', { agent, type, depth, model, modelLimits, apart }, undefined);
    }
    case 'tool': {
      if (draft.event === 'cancel') return form('tool', 'cancel', undefined, draft.value);
      const { name: tool, args } = draft.request;
      if (draft.event === 'started') return form('tool', 'started', { tool, args }, undefined);
      return form('tool', draft.event, { tool }, callEnd(draft.value, draft.ran));
    }
    case 'wait':
      if (draft.event === 'started') return form('wait', 'started', draft.request, undefined);
      return { request: undefined, value: draft.value };
    default:
      return { request: undefined, value: 'value' in draft ? draft.value : undefined };
  }
}

/** The stored form of the end of an effect: its own value or its error, and the ledger's charge. */
export function effectForm<T>({ paidBy }: Call<T>, outcome: Outcome<T>, spent: Work['spent']): StoredForm {
  const isPaid = spent !== undefined || paidBy !== undefined;
  const request = isPaid ? { ...(spent && { spent }), ...(paidBy !== undefined && { paidBy }) } : undefined;
  return { request, value: outcome.ok ? outcome.value : outcome.error };
}

/** What is undefined is left out of JSON. */
type Given<T> = T extends object
  ? { [Name in keyof T]: object extends Pick<T, Name> ? T[Name] | undefined : T[Name] }
  : T;
type Form<K extends Kind, E extends StoredEventOf<K>> = Extract<StoredEntry, { kind: K; event: E }>;

function form<K extends Kind, E extends StoredEventOf<K>>(
  _kind: K,
  _event: E,
  request: Given<Form<K, E>['request']>,
  value: Given<Form<K, E>['value']>,
): StoredForm {
  return { request, value };
}

function sumsOf<Status>({
  status,
  steps,
  toolCalls,
  usage,
  costUsd,
  error,
}: Omit<AgentOut, 'status'> & { readonly status: Status }) {
  return { status, steps, toolCalls, usage, costUsd, error } satisfies Given<Omit<StoredSums, 'status'>> & {
    status: Status;
  };
}

/** `ran: false` is a refusal: an outcome by itself. */
function callEnd({ isError, error, content }: ToolOut, ran: boolean): Given<StoredCallEnd> {
  return { isError, error, content: sha256(JSON.stringify(content)), ran };
}
