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
  const [what, answers, mend] = ANSWERS[request.reason] ?? AN_APPROVAL;
  if (!answers.includes(decision.decision))
    throw new ConfigurationError('decision', `${decision.decision} does not answer ${what}`, `Write ${mend}.`);
  if (decision.decision !== 'answer') return decision;
  const checked = check(decision.value);
  if (checked.ok) return { decision: 'answer', value: checked.value as Json };
  const problem = checked.issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new ConfigurationError('decision.value', problem, 'Give a value that the question’s schema takes.');
}

const AN_APPROVAL = ['an approval', ['allow', 'deny'], "{ decision: 'allow' } or 'deny'"] as const;

const ANSWERS: { readonly [reason: string]: readonly [string, readonly string[], string] } = {
  wait: ['a question', ['answer', 'deny'], "{ decision: 'answer', value } or 'deny'"],
  unknown: [
    'what became of a call',
    ['happened', 'retry', 'failed', 'deny'],
    "{ decision: 'happened', value }, 'retry' or 'failed'",
  ],
};

export function alreadyDecided(id: string): ConfigurationError {
  return new ConfigurationError('id', `${id} was decided before`, 'The first decision wins.');
}
