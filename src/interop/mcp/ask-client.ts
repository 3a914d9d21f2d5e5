import type { Decision } from '../../core/contract/permission.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { approvalText } from '../../security/approval-text.ts';
import type { Pending } from './served-call.ts';

/** A form that a client shows to a person (MCP elicitation). */
export interface Form {
  readonly mode: 'form';
  readonly message: string;
  readonly requestedSchema: {
    readonly type: 'object';
    readonly properties: {
      readonly [name: string]: { readonly type: 'string'; readonly title: string; readonly enum?: string[] };
    };
    readonly required: string[];
  };
}

/** The form for a pending request. Its arguments are escaped, so that untrusted text cannot imitate other parts of the form. */
export function formOf(request: Pending): Form {
  if (request.reason === 'wait') {
    return {
      mode: 'form',
      message: `${request.path} asks:\n${JSON.stringify(request.request, null, 2)}`,
      requestedSchema: {
        type: 'object',
        properties: { answer: { type: 'string', title: 'Answer, as JSON or as text' } },
        required: ['answer'],
      },
    };
  }
  const isUnknownOutcome = request.reason === 'unknown';
  return {
    mode: 'form',
    message: approvalText(request),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          enum: isUnknownOutcome ? ['happened', 'retry', 'failed'] : ['allow', 'deny'],
        },
        reason: { type: 'string', title: 'Reason, for a denial' },
      },
      required: ['decision'],
    },
  };
}

/** The decision in a client's response to a form. Anything but plain consent is a denial. */
export function formDecision(request: Pending, response: unknown): Decision {
  const { action, content } = isPlainObject(response) ? response : {};
  const answers = action === 'accept' && isPlainObject(content) ? content : {};
  if (request.reason === 'wait') {
    if (typeof answers.answer === 'string') return { decision: 'answer', value: jsonOrText(answers.answer) };
    // A client with its own forms: the schema of the wait validates its answer.
    if (Object.keys(answers).length > 0) return { decision: 'answer', value: answers as Json };
    return { decision: 'deny', reason: 'the person at the client gave no answer' };
  }
  const { decision, reason } = answers;
  if (request.reason === 'unknown') {
    if (decision === 'happened' || decision === 'retry' || decision === 'failed') return { decision };
    return { decision: 'deny', reason: 'the person at the client did not say' };
  }
  if (decision === 'allow') return { decision };
  const why =
    typeof reason === 'string' && reason !== '' ? reason.slice(0, 500) : 'the person at the client did not allow it';
  return { decision: 'deny', reason: why };
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
