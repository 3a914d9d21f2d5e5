/**
 * Kinds of failures after which another model may do better: the key, the model, the provider or the way to it failed.
 * What is wrong with the request itself, or judged about its content, another model must not be asked for: `invalid_request`,
 * `request_too_large`, `context_length`, `output_truncated`, `content_filter`, `refusal`.
 */
const FALLS_OVER: ReadonlySet<string> = new Set([
  'auth',
  'permission',
  'not_found',
  'quota',
  'rate_limit',
  'overloaded',
  'server_error',
  'network',
  'timeout',
  'malformed_response',
  'empty_response',
  'unknown',
]);

/** Whether a `fallback` goes on to its next model after a failure for good. */
export function fallsOver(kind: string): boolean {
  return FALLS_OVER.has(kind);
}
