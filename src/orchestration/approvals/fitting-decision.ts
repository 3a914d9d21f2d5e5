import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { Validation } from '../../core/schema/schema.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { readDecision } from '../../security/approval.ts';

/**
 * The decision, with its value as the question's schema gives it.
 *
 * @throws ConfigurationError where it is none, is of the wrong kind, or its value does not fit.
 */
export function fittingDecision(
  request: ApprovalRequest | WaitRequest,
  decision: Decision,
  check: (value: unknown) => Validation<unknown>,
): Decision {
  const fault = readDecision(decision);
  if (typeof fault === 'string')
    throw new ConfigurationError('decision', fault, "Write for example { decision: 'allow' }.");
  const { what, answers, mend } = answersTo(request);
  if (!answers.includes(decision.decision))
    throw new ConfigurationError('decision', `${decision.decision} does not answer ${what}`, `Write ${mend}.`);
  if (decision.decision !== 'answer') return decision;
  const checked = check(decision.value);
  if (checked.ok) return { decision: 'answer', value: checked.value as Json };
  const problem = checked.issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new ConfigurationError('decision.value', problem, 'Give a value that the question’s schema takes.');
}

/** The decisions that answer a request, its name for errors, and how such a decision is written. */
export function answersTo({ reason }: ApprovalRequest | WaitRequest): Answers {
  return reason === 'wait' ? QUESTION : reason === 'unknown' ? UNKNOWN_OUTCOME : APPROVAL;
}

interface Answers {
  readonly what: string;
  readonly answers: readonly string[];
  readonly mend: string;
}

const APPROVAL: Answers = { what: 'an approval', answers: ['allow', 'deny'], mend: "{ decision: 'allow' } or 'deny'" };
const QUESTION: Answers = {
  what: 'a question',
  answers: ['answer', 'deny'],
  mend: "{ decision: 'answer', value } or 'deny'",
};
const UNKNOWN_OUTCOME: Answers = {
  what: 'what became of a call',
  answers: ['happened', 'failed', 'retry', 'deny'],
  mend: "{ decision: 'happened', value }, 'retry' or 'failed'",
};

export function alreadyDecided(id: string): ConfigurationError {
  return new ConfigurationError('id', `${id} was decided before`, 'The first decision wins.');
}
