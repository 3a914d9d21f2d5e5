import type { Decision } from '../core/contract/permission.ts';
import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import type { Json } from '../core/values/json.ts';

export interface DecisionOptions {
  readonly deny?: boolean;
  readonly answer?: string;
  /** True if it was given without a value. */
  readonly happened?: string | boolean;
  readonly retry?: boolean;
  readonly failed?: boolean;
  readonly reason?: string;
  readonly args?: string;
  readonly always?: boolean;
}

/** The decision in the options of `cox approve`; without one of the first five, `allow`. */
export function decisionOf(options: DecisionOptions): Decision {
  const { deny, answer, happened, retry, failed, reason, args, always } = options;
  const outcomes = Object.entries({ deny, answer, happened, retry, failed }).filter(([, value]) => value !== undefined);
  const [first, second] = outcomes.map(([name]) => `--${name}`);
  if (second !== undefined) throw new ConfigurationError(second, `does not go with ${first}`, 'Give one of them.');
  if (first !== undefined && (args !== undefined || always !== undefined))
    throw new ConfigurationError(
      args === undefined ? '--always' : '--args',
      `does not go with ${first}`,
      'Leave it out.',
    );
  if (reason !== undefined && first !== undefined && first !== '--deny')
    throw new ConfigurationError('--reason', `does not go with ${first}`, 'Leave it out.');
  if (answer !== undefined) return { decision: 'answer', value: jsonOf('--answer', answer) };
  if (happened !== undefined)
    return { decision: 'happened', ...(typeof happened === 'string' && { value: jsonOf('--happened', happened) }) };
  if (retry) return { decision: 'retry' };
  if (failed) return { decision: 'failed' };
  const why = reason === undefined ? {} : { reason };
  if (deny) return { decision: 'deny', ...why };
  return {
    decision: 'allow',
    ...why,
    ...(args !== undefined && { args: jsonOf('--args', args) }),
    ...(always && { always }),
  };
}

function jsonOf(option: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    throw new ConfigurationError(option, `not JSON (${messageOf(thrown)})`, `A text is written so: ${option} '"yes"'.`);
  }
}
