import type { ModelErrorKind } from '../../core/values/model-error-kind.ts';

/** The facts of a failure, independent of the provider. */
export interface FailureFacts {
  readonly status?: number | undefined;
  /** Every code, type and status word of the body, in lower case. */
  readonly codes: readonly string[];
  readonly message: string;
}

const CONTEXT_CODES = [
  'context_length_exceeded',
  'exceed_context_size_error',
  'context_window_exceeded',
  'model_max_prompt_tokens_exceeded',
];
/** Messages of servers about a request that is too long for the model. */
const CONTEXT = new RegExp(
  [
    /maximum context length|context (length|window|size)[^.]{0,40}(exceed|limit|too)/,
    /(exceed|larger|longer|greater)[^.]{0,60}(context|maximum number of tokens|model token limit)/,
    /(prompt|input)( is| was)? too long|request (is |has )?(too long|too many tokens)|(input|prompt) has too many tokens/,
    /(input|prompt) token count[^.]{0,40}exceed|too many tokens: total number/,
    /maximum prompt length is \d|prompt exceeds max(imum)? length|range of input length should be/,
    /`?inputs`? tokens \+ `?max_new_tokens`? must be|reduce the length of/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);
const QUOTA_CODES = ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active', 'billing_error'];
const QUOTA =
  /exceeded your current quota|insufficient[ _](quota|credits?|balance|funds)|credit balance is too low|out of credits|payment required|hard limit has been reached/i;
const FILTER_CODES = ['content_filter', 'content_policy_violation', 'responsibleaipolicyviolation'];
const FILTER =
  /content management policy|content[ _]filter|output blocked by content|flagged by moderation|as a result of our safety system/i;
/** More in one request than the limit of a whole minute: waiting does not help. */
const TOO_LARGE = /request too large for/i;
const KEY = /api[ _]key (is )?(not valid|invalid)|(invalid|incorrect) api[ _]key/i;
const NO_MODEL = /model (does )?not exist|invalid model( id)?\b/i;

/** Words of bodies that are more precise than the status, or come in a stream without one. */
const CODES: { readonly [code: string]: ModelErrorKind } = {
  authentication_error: 'auth',
  invalid_api_key: 'auth',
  permission_error: 'permission',
  permission_denied: 'permission',
  not_found_error: 'not_found',
  model_not_found: 'not_found',
  invalid_model: 'not_found',
  request_too_large: 'request_too_large',
  rate_limit_error: 'rate_limit',
  rate_limit_exceeded: 'rate_limit',
  resource_exhausted: 'rate_limit',
  too_many_requests: 'rate_limit',
  overloaded_error: 'overloaded',
  overloaded: 'overloaded',
  unavailable: 'overloaded',
  server_is_overloaded: 'overloaded',
  engine_overloaded: 'overloaded',
  capacity_exceeded: 'overloaded',
  engine_overloaded_error: 'overloaded',
  slow_down: 'overloaded',
  invalid_prompt: 'invalid_request',
  timeout_error: 'timeout',
  deadline_exceeded: 'timeout',
  tool_use_failed: 'malformed_response',
};
/** Too general to overrule a status. */
const VAGUE: { readonly [code: string]: ModelErrorKind } = {
  invalid_request_error: 'invalid_request',
  badrequesterror: 'invalid_request',
  invalid_argument: 'invalid_request',
  api_error: 'server_error',
  server_error: 'server_error',
  internal_error: 'server_error',
  internal_server_error: 'server_error',
  internalservererror: 'server_error',
  internal: 'server_error',
};

/** The kind of a failure. Context length and quota are looked for first: servers send them under many statuses. */
export function errorKind({ status, codes, message }: FailureFacts): ModelErrorKind {
  const has = (list: readonly string[]) => codes.some((code) => list.includes(code));
  const rateLimited = codes.includes('resource_exhausted');
  if (has(CONTEXT_CODES) || (status !== 429 && status !== 413 && CONTEXT.test(message))) return 'context_length';
  // Gemini uses "exceeded your current quota" for its limits per minute as well.
  if (has(QUOTA_CODES) || status === 402 || (!rateLimited && QUOTA.test(message))) return 'quota';
  if (status === 413 || (status === 429 && TOO_LARGE.test(message))) return 'request_too_large';
  if (has(FILTER_CODES) || (status !== undefined && status < 500 && FILTER.test(message))) return 'content_filter';
  for (const code of codes) {
    const kind = CODES[code];
    if (kind !== undefined) return kind;
  }
  if (status === 400 && KEY.test(message)) return 'auth';
  if (status === 400 && NO_MODEL.test(message)) return 'not_found';
  if (status !== undefined) return kindOfStatus(status);
  for (const code of codes) {
    const kind = VAGUE[code];
    if (kind !== undefined) return kind;
  }
  return kindOfMessage(message);
}

function kindOfStatus(status: number): ModelErrorKind {
  switch (status) {
    case 401:
      return 'auth';
    case 403:
      return 'permission';
    case 404:
    case 405:
      return 'not_found';
    case 408:
    case 504:
    case 522:
    case 524:
      return 'timeout';
    case 409:
    case 424:
    case 499:
      return 'server_error';
    case 413:
      return 'request_too_large';
    case 429:
      return 'rate_limit';
    case 425:
    case 498:
    case 503:
    case 529:
      return 'overloaded';
  }
  if (status >= 500) return 'server_error';
  return status >= 400 ? 'invalid_request' : 'unknown';
}

/** An error inside a stream with only a sentence counts as a server error. */
function kindOfMessage(message: string): ModelErrorKind {
  if (/overloaded|at capacity|no capacity/i.test(message)) return 'overloaded';
  if (/rate.?limit|too many requests/i.test(message)) return 'rate_limit';
  if (/timed? ?out|deadline/i.test(message)) return 'timeout';
  if (KEY.test(message) || /unauthori[sz]ed|not authenticated|authentication error/i.test(message)) return 'auth';
  return 'server_error';
}
