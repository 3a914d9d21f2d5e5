import type { Span } from '../contract/record.ts';
import type { Permit } from '../runtime/call-permissions.ts';
import { envelope } from '../runtime/envelope.ts';
import { hasStarted } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { callFacts } from './call-facts.ts';
import { type CallResult, type CallSite, delegateOf } from './call-site.ts';
import { failedOut } from './tool-call.ts';

export type Permitted = Extract<Permit, { ok: true }>;
type Refusal = Extract<Permit, { ok: false }>;

/** The result of a call that does not run. */
export function refuse(run: RunContext, site: CallSite, refusal: Refusal): CallResult {
  const { self, key, step, parent, parsed, label, visible } = site;
  const { tool, args } = parsed;
  // An error text that quotes arguments says what the model said: it carries the label of the turn.
  const out = failedOut(tool, errorOf(run, site, refusal), label, visible);
  const span: Span = { key, parent, handle: undefined };
  const entry = { ...envelope(self, key, { step, span }), kind: 'tool', event: 'failed' } as const;
  run.journal.note({ ...entry, request: callFacts(parsed, key, args), value: out, ran: false });
  return { out };
}

function errorOf(run: RunContext, { key, parsed }: CallSite, { error, stop }: Refusal): ErrorRecord {
  if (parsed.refused !== undefined) return error;
  const { tool } = parsed;
  if (stop !== undefined) return delegateOf(tool) === undefined ? error : notBegun(error);
  return tool.type !== 'procedure' && hasStarted(run, 'tool', key) ? unknownOutcome(error) : error;
}

/** The text of a worker that was stopped before it began is that of one that was stopped later. */
function notBegun(error: ErrorRecord): ErrorRecord {
  return { ...error, message: `${error.kind}: ${error.message}` };
}

/** The process died during the call, and it may not run again: "denied" would say that it did not happen. */
function unknownOutcome({ message }: ErrorRecord): ErrorRecord {
  return {
    kind: 'unknown_outcome',
    message: `the process died while this call was under way; whether it took effect is unknown, and it did not run again: ${message}`,
    retryable: false,
  };
}
