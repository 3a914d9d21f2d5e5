import type { ModelError } from '../../core/values/errors.ts';
import type { ModelTurn } from '../../core/values/model.ts';
import type { ModelErrorKind } from '../../core/values/model-error-kind.ts';
import type { FakeExchange, WireError } from './message.ts';

type Words = Omit<WireError, 'message'>;

/** The HTTP status and the words of each kind of error; `network` is a broken connection. */
const SERVER_ERROR: Words = { status: 500, type: 'api_error', code: 'server_error' };

const WORDS: { readonly [kind in ModelErrorKind]: Words } = {
  auth: { status: 401, type: 'authentication_error', code: 'invalid_api_key' },
  permission: { status: 403, type: 'permission_error', code: 'permission_denied' },
  not_found: { status: 404, type: 'not_found_error', code: 'model_not_found' },
  invalid_request: { status: 400, type: 'invalid_request_error', code: 'invalid_value' },
  request_too_large: { status: 413, type: 'request_too_large', code: 'request_too_large' },
  quota: { status: 429, type: 'billing_error', code: 'insufficient_quota' },
  context_length: { status: 400, type: 'invalid_request_error', code: 'context_length_exceeded' },
  rate_limit: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  overloaded: { status: 529, type: 'overloaded_error', code: 'overloaded' },
  timeout: { status: 408, type: 'timeout_error', code: 'timeout' },
  content_filter: { status: 400, type: 'invalid_request_error', code: 'content_filter' },
  server_error: SERVER_ERROR,
  network: SERVER_ERROR,
  output_truncated: SERVER_ERROR,
  refusal: SERVER_ERROR,
  malformed_response: SERVER_ERROR,
  empty_response: SERVER_ERROR,
  unknown: SERVER_ERROR,
};

/** Words that the message needs for a reader without an error code. */
const SAYS: { readonly [kind in ModelErrorKind]?: string } = {
  context_length: 'prompt is too long: ',
  content_filter: 'Output blocked by content filtering policy: ',
};

export function wireError(error: ModelError): WireError {
  const words = WORDS[error.kind] ?? SERVER_ERROR;
  return { ...words, status: error.status ?? words.status, message: `${SAYS[error.kind] ?? ''}${error.message}` };
}

/** Kinds that are no HTTP error, as the answers that cause them; an error with a status keeps it. */
export function answerFor(error: ModelError): ModelError | ModelTurn | FakeExchange {
  if (error.status !== undefined) return error;
  switch (error.kind) {
    case 'refusal':
      return { content: [{ type: 'text', text: error.message }], stop: 'refused' };
    case 'output_truncated':
      return { content: [], stop: 'length' };
    case 'empty_response':
      return { content: [{ type: 'text', text: '' }], stop: 'end' };
    case 'malformed_response':
      return { status: 200, body: `<html><title>${error.message.replaceAll(/[<>&]/g, '')}</title></html>` };
    default:
      return error;
  }
}
