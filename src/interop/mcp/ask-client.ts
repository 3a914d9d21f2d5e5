import type { Decision } from '../../core/contract/permission.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { approvalText } from '../../security/approval-text.ts';
import type { Pending } from './served-call.ts';

/** A form that a client puts to a person (MCP elicitation). */
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

/** The question for a request that waits. What a stranger wrote into its arguments can forge nothing in it. */
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
  const isDoubt = request.reason === 'unknown';
  return {
    mode: 'form',
    message: approvalText(request),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          enum: isDoubt ? ['happened', 'retry', 'failed'] : ['allow', 'deny'],
        },
        reason: { type: 'string', title: 'Reason, for a denial' },
      },
      required: ['decision'],
    },
  };
}

/** What a client gave back for a form. Whatever is no plain consent is a denial. */
export function decisionOf(request: Pending, response: unknown): Decision {
  const { action, content } = isPlainObject(response) ? response : {};
  const given = action === 'accept' && isPlainObject(content) ? content : {};
  if (request.reason === 'wait') {
    if (typeof given.answer === 'string') return { decision: 'answer', value: jsonOrText(given.answer) };
    // A client with forms of its own: what it gave is judged by the schema of the wait.
    if (Object.keys(given).length > 0) return { decision: 'answer', value: given as Json };
    return { decision: 'deny', reason: 'the person at the client gave no answer' };
  }
  const { decision, reason } = given;
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
