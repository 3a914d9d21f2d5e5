/** What servers and gateways say when they refuse: status and body of each, and what kind of failure it is. */
import { expect, test } from 'vitest';
import { bodyFailure } from '../../src/models/failure/failure.ts';

const said = (message: string, more: object = {}) => ({ error: { message, ...more } });

test.each<[kind: string, status: number | undefined, body: unknown]>([
  ['context_length', 400, said("This model's maximum context length is 8192 tokens, your messages resulted in 9000.")],
  ['context_length', 400, said('Please reduce the length of the messages. Current length is 8193, limit is 8192')],
  [
    'context_length',
    400,
    { message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
  ],
  [
    'context_length',
    400,
    said('The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).'),
  ],
  ['context_length', 422, { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097.' }],
  ['context_length', 400, said('input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000')],
  ['context_length', 400, { message: 'Input is too long for requested model.' }],
  ['context_length', 400, { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' }],
  ['context_length', 400, said("This model's maximum prompt length is 131072 but the request contains 140000 tokens.")],
  ['context_length', 400, said('Invalid request: Your request exceeded model token limit: 8192')],
  ['context_length', 400, said('Prompt exceeds max length', { code: '1261' })],
  ['context_length', 400, said('Range of input length should be [1, 6000]')],
  ['context_length', 500, said('the request exceeds the available context size. try increasing the context size')],
  ['context_length', 400, said('prompt token count of 200000 exceeds the limit of 128000')],
  [
    'context_length',
    400,
    said('Provider returned error', { metadata: { raw: '{"error":"prompt is too long: 5 > 4"}' } }),
  ],
  ['context_length', undefined, { error: 'context length exceeded' }],
  ['request_too_large', 413, said('Request too large for model on tokens per minute', { code: 'rate_limit_exceeded' })],
  [
    'request_too_large',
    429,
    said('Request too large for m on tokens per min: Limit 10, Requested 12.', { type: 'tokens' }),
  ],
  [
    'rate_limit',
    429,
    said('Rate limit reached for m: Limit 10, Used 9, Requested 2.', { code: 'rate_limit_exceeded' }),
  ],
  ['rate_limit', 429, { fault: { faultstring: 'Rate limit quota violation' } }],
  ['rate_limit', 429, [said('Resource has been exhausted', { status: 'RESOURCE_EXHAUSTED' })]],
  ['rate_limit', undefined, { message: 'Too many requests', code: 429 }],
  ['rate_limit', undefined, { errors: [{ message: 'Too many requests' }] }],
  ['auth', 400, said('API key not valid. Please pass a valid API key.', { status: 'INVALID_ARGUMENT' })],
  ['auth', 401, { detail: 'Not authenticated' }],
  ['auth', undefined, { detail: 'Not authenticated' }],
  ['auth', undefined, said('Unauthorized', { code: '401' })],
  ['permission', 403, { success: false, errors: [{ code: 10000, message: 'Authentication error' }] }],
  ['not_found', 400, said('Model Not Exist')],
  ['not_found', 400, { message: 'Invalid model: foo', type: 'invalid_model', code: '1500' }],
  ['not_found', 404, { error: "model 'foo' not found, try pulling it first" }],
  ['not_found', 405, 'Method Not Allowed'],
  ['quota', 402, said('Insufficient Balance')],
  ['quota', 400, said('Your credit balance is too low to access the API.')],
  ['overloaded', 498, said('Flex Tier Capacity Exceeded', { code: 'capacity_exceeded' })],
  ['overloaded', undefined, 'engine overloaded'],
  ['timeout', 524, '<html><title>524: A timeout occurred</title></html>'],
  ['server_error', 520, '<html><title>520: unknown error</title></html>'],
  ['server_error', 499, ''],
  ['content_filter', 403, said('Your request was flagged by moderation')],
  ['content_filter', 400, said('Your request was rejected as a result of our safety system.')],
  ['invalid_request', 400, { detail: [{ loc: ['body', 'messages'], msg: 'field required' }] }],
  ['invalid_request', 422, { detail: 'bad' }],
])('is %s: %s %j', (kind, status, body) => {
  expect(bodyFailure(body, 'p', [], { status })).toMatchObject({ kind });
});

test('the words of a gateway, of whom it asked, and of lists of reasons stand in the message', () => {
  const words = (body: unknown) => bodyFailure(body, 'p', [], { status: 400 }).message;
  expect(words(said('Provider returned error', { metadata: { raw: 'no such voice' } }))).toContain(
    'Provider returned error: no such voice',
  );
  expect(words({ detail: [{ msg: 'field required' }] })).toContain('field required');
  expect(words({ errors: [{ message: 'first' }, { message: 'second' }] })).toContain('first');
});
