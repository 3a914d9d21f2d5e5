import type { Access } from '../core/contract/access.ts';
import type { ApprovalRequest, AskReason, Decision } from '../core/contract/permission.ts';
import type { RunRecord } from '../core/contract/record.ts';
import { canonical, sha256 } from '../core/values/json.ts';
import type { Label } from '../core/values/label.ts';
import { isoTime } from '../core/values/time.ts';
import { argsHash } from './approval.ts';

/** One decision about one call. `decision` is the result, `by` who or what decided. */
export interface AuditEntry {
  /** Its number in the journal. */
  readonly record: number;
  readonly run: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** Address of the call. */
  readonly key: string;
  readonly path: string;
  readonly agent: string;
  readonly tool: string;
  /**
   * `allow`; `endorse`: an `allow!` rule let it pass although untrusted or private data led to it, or a person trusted its result; `ask`: put to a person, whose answer
   * is an entry of its own (`allow`, `deny`, `happened`, `retry`, `failed`); `deny`.
   */
  readonly decision: 'allow' | 'endorse' | 'ask' | 'deny' | 'happened' | 'retry' | 'failed';
  /** `plan`: a pinned plan contained it; `access`: reading is allowed; `nobody`: a request without an answer in time; `policy`: a cap, a mode, a flow, a broken answer. */
  readonly by: 'rule' | 'plan' | 'mode' | 'access' | 'person' | 'nobody' | 'policy';
  readonly rule?: string;
  readonly reason?: string;
  /** Why approval was needed. */
  readonly asked?: AskReason;
  readonly access?: Access;
  readonly callId?: string;
  /** Of the context that led to an ask. */
  readonly label?: Label;
  readonly argsHash?: string;
  readonly toolHash?: string;
  /** The sandbox of the processes that the call started. */
  readonly sandbox?: string;
}

/** An entry of a chained audit: `hash` covers the entry and the hash of the one before. 64 hex digits. */
export type ChainedEntry = AuditEntry & { readonly before: string; readonly hash: string };

/**
 * The decisions of a run, in order, from its records: those that a view is shown, or those of a journal (`auditRun`). Questions of
 * procedures are none.
 */
export function auditOf(records: readonly RunRecord[]): readonly AuditEntry[] {
  const open = new Map<string, ApprovalRequest>();
  /** Calls that a person allowed: their start is no further decision. */
  const answered = new Set<string>();
  return records.flatMap((record): readonly AuditEntry[] => {
    switch (record.kind) {
      case 'wait': {
        if (record.event === 'cancel') return [];
        const request = record.event === 'started' ? record.request : open.get(record.key);
        if (request === undefined || request.reason === 'wait') return [];
        // A request that is still open when the run resumes was asked before.
        const isNew = !open.has(record.key);
        open.set(record.key, request);
        if (record.event === 'started') return isNew ? [askOf(record, request)] : [];
        if (record.value.decision === 'allow' && request.reason !== 'data') answered.add(callOf(record.key));
        return [answerOf(record, request, record.value)];
      }
      case 'decision': {
        const { reason, rule, tool, callId } = record.value;
        const by = rule === undefined ? 'policy' : 'rule';
        return [{ ...locationOf(record), ...{ tool, decision: 'deny', by, reason, callId }, ...(rule && { rule }) }];
      }
      case 'tool':
        return record.event !== 'started' || answered.has(record.key) ? [] : [allowedOf(record)];
      default:
        return [];
    }
  });
}

/**
 * Chains the entries of an audit, so that a change, omission or move of an entry is detected with the last hash; with a key (HMAC-SHA-256)
 * only a holder of the key can forge the chain.
 */
export function chainAudit(entries: readonly AuditEntry[], key?: string): readonly ChainedEntry[] {
  let before = '0'.repeat(64);
  return entries.map((entry) => {
    const text = canonical(JSON.parse(JSON.stringify({ ...entry, before })));
    const chained = { ...entry, before, hash: key === undefined ? sha256(text) : hmac(key, text) };
    before = chained.hash;
    return chained;
  });
}

function hmac(key: string, text: string): string {
  return process.getBuiltinModule('node:crypto').createHmac('sha256', key).update(text).digest('hex');
}

/** `lead/2.0/@approval~1a2b3c4d` is that of `lead/2.0`. */
function callOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/@'));
}

function locationOf({ record, run, time, key, node: { path, agent } }: RunRecord) {
  return { record, run, time: isoTime(time), key: key.includes('/@') ? callOf(key) : key, path, agent };
}

function facts({ tool, access, argsHash, toolHash, label }: ApprovalRequest) {
  return { tool, access, argsHash, toolHash, label };
}

function askOf(record: RunRecord, request: ApprovalRequest): AuditEntry {
  const { reason: asked, rule } = request;
  const by = rule === undefined ? 'policy' : 'rule';
  return {
    ...locationOf(record),
    ...facts(request),
    ...{ decision: 'ask', by, asked },
    ...(rule !== undefined && { rule }),
  };
}

/** Reasons that the run itself gives. */
const UNANSWERED: readonly (string | undefined)[] = [
  'the approval expired',
  'it needs an approval and nobody is there to give it',
];

function answerOf(record: RunRecord, request: ApprovalRequest, answer: Decision): AuditEntry {
  const reason = 'reason' in answer ? answer.reason : undefined;
  const by = UNANSWERED.includes(reason) ? 'nobody' : 'person';
  const isEndorsed = request.reason === 'data' && answer.decision === 'allow';
  const decision = isEndorsed ? 'endorse' : answer.decision === 'answer' ? 'deny' : answer.decision;
  const { label: _, argsHash: shownHash, ...rest } = facts(request);
  const changed = answer.decision === 'allow' && answer.args !== undefined ? argsHash(answer.args) : shownHash;
  return { ...locationOf(record), ...rest, argsHash: changed, decision, by, ...(reason !== undefined && { reason }) };
}

function allowedOf(record: Extract<RunRecord, { kind: 'tool'; event: 'started' }>): AuditEntry {
  const { name: tool, access, callId, args, rule, sandbox } = record.request;
  const decision = rule?.startsWith('allow!') ? 'endorse' : 'allow';
  const by = rule === undefined ? (access === 'read' ? 'access' : 'mode') : rule.startsWith('plan ') ? 'plan' : 'rule';
  return {
    ...locationOf(record),
    ...{ tool, decision, by, callId, argsHash: argsHash(args) },
    ...(access !== undefined && { access }),
    ...(rule !== undefined && { rule }),
    ...(sandbox !== undefined && { sandbox }),
  };
}
