/** One taxonomy: status × body × protocol → kind, whether to try again, and how long to wait first. */
import { describe, expect, test } from 'vitest';
import { modelFailure } from '../../src/models/failure/failure.ts';

/** What an SDK throws of an HTTP error: its status, its headers, and what it made of the body. */
function thrown(status: number, body: unknown, headers: { readonly [name: string]: string } = {}): Error {
  return Object.assign(new Error(`${status} status code`), { status, headers: new Headers(headers), error: body });
}

/** The same words in the body of each protocol, as each SDK hands it on: `error` alone, or all of it. */
const BODIES: { readonly [protocol: string]: (message: string, word: string) => unknown } = {
  chat: (message, word) => ({ message, type: word, param: null, code: word }),
  responses: (message, word) => ({ message, type: 'invalid_request_error', param: null, code: word }),
  messages: (message, word) => ({ type: 'error', error: { type: word, message }, request_id: 'req_1' }),
};

const RETRYABLE = ['rate_limit', 'overloaded', 'server_error', 'network', 'timeout'];

describe.each(Object.keys(BODIES))('by %s', (protocol) => {
  const body = BODIES[protocol] ?? String;

  /** Status, a code that says nothing, and words that say nothing. */
  test.each<[number, string]>([
    [400, 'invalid_request'],
    [401, 'auth'],
    [402, 'quota'],
    [403, 'permission'],
    [404, 'not_found'],
    [405, 'not_found'],
    [408, 'timeout'],
    [409, 'server_error'],
    [413, 'request_too_large'],
    [415, 'invalid_request'],
    [418, 'invalid_request'],
    [422, 'invalid_request'],
    [424, 'server_error'],
    [425, 'overloaded'],
    [429, 'rate_limit'],
    [498, 'overloaded'],
    [499, 'server_error'],
    [500, 'server_error'],
    [501, 'server_error'],
    [502, 'server_error'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [520, 'server_error'],
    [522, 'timeout'],
    [524, 'timeout'],
    [529, 'overloaded'],
    [599, 'server_error'],
  ])('%i alone is %s, whatever shape its body has', (status, kind) => {
    const bodies = [
      body('words', 'a_word'),
      [{ error: { message: 'words' } }],
      'words',
      '<html><title>No</title></html>',
      '',
      null,
    ];
    for (const said of bodies) {
      const failure = modelFailure(thrown(status, said ?? undefined), 'p');
      expect(failure).toMatchObject({ kind, status, retryable: RETRYABLE.includes(kind) });
      expect(failure).not.toHaveProperty('retryAfterMs', expect.any(Number));
    }
  });

  /** A code that says more than the status, or words that do. */
  test.each<[kind: string, word: string, message: string, statuses: readonly number[]]>([
    ['context_length', 'context_length_exceeded', 'words', [400, 413, 422, 429, 500]],
    ['context_length', 'a_word', 'prompt is too long: 210000 tokens > 200000 maximum', [400, 422, 500]],
    ['context_length', 'a_word', "This model's maximum context length is 8192 tokens", [400, 500]],
    ['quota', 'insufficient_quota', 'words', [400, 402, 403, 429, 503]],
    ['quota', 'a_word', 'You exceeded your current quota, please check your plan', [400, 403, 429]],
    ['quota', 'billing_error', 'words', [400, 403]],
    ['auth', 'invalid_api_key', 'words', [400, 401, 403]],
    ['auth', 'authentication_error', 'words', [400, 401]],
    ['permission', 'permission_error', 'words', [400, 403]],
    ['not_found', 'model_not_found', 'words', [400, 404]],
    ['request_too_large', 'request_too_large', 'words', [400, 413]],
    ['rate_limit', 'rate_limit_exceeded', 'words', [400, 429, 503]],
    ['overloaded', 'overloaded_error', 'words', [429, 500, 503, 529]],
    ['content_filter', 'content_filter', 'words', [400, 403]],
    ['content_filter', 'a_word', 'violates our content management policy', [400]],
    ['timeout', 'timeout_error', 'words', [408, 504]],
    ['malformed_response', 'tool_use_failed', 'words', [400]],
  ])('is %s where it says %s (%s), under each of its statuses', (kind, word, message, statuses) => {
    const retryable = RETRYABLE.includes(kind) || kind === 'malformed_response';
    for (const status of statuses) {
      expect(modelFailure(thrown(status, body(message, word)), 'p')).toMatchObject({ kind, status, retryable });
    }
  });

  test.each<[string, { readonly [name: string]: string }, number | undefined]>([
    ['milliseconds before seconds', { 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    ['seconds', { 'retry-after': '2' }, 2_000],
    ['parts of seconds', { 'retry-after': '0.25' }, 250],
    ['an hour', { 'retry-after': '3600' }, 3_600_000],
    ['none of a moment that is over', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, undefined],
    ['none of nought', { 'retry-after': '0' }, undefined],
    ['none of less', { 'retry-after': '-3' }, undefined],
    ['none of words', { 'retry-after': 'soon' }, undefined],
  ])('asks for %s', (_, headers, retryAfterMs) => {
    for (const status of [429, 503, 529]) {
      const failure = modelFailure(thrown(status, body('words', 'a_word'), headers), 'p');
      expect({ retryAfterMs: undefined, ...failure }).toMatchObject({ retryable: true, retryAfterMs });
    }
  });

  test('a server that says not to try again is believed; one that says to, only where nothing else is known', () => {
    const of = (status: number, should: string) =>
      modelFailure(thrown(status, body('words', 'a_word'), { 'x-should-retry': should }), 'p');
    expect(of(500, 'false')).toMatchObject({ kind: 'server_error', retryable: false });
    expect(of(429, 'false')).toMatchObject({ kind: 'rate_limit', retryable: false });
    expect(of(400, 'true')).toMatchObject({ kind: 'invalid_request', retryable: true });
    expect(of(401, 'true')).toMatchObject({ kind: 'auth', retryable: false });
    expect(of(402, 'true')).toMatchObject({ kind: 'quota', retryable: false });
  });
});
