import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REDACTED, redact, redactor } from '../../src/security/redaction/secrets.ts';
import { fastest } from '../support/fastest.ts';

const SECRETS = [
  ['sk-proj-abcdefghijklmnop1234', 'an OpenAI key'],
  ['sk-ant-api03-abcdefghijklmnop_-1234', 'an Anthropic key'],
  [`ghp_${'a1'.repeat(18)}`, 'a GitHub token'],
  ['AKIAABCDEFGHIJKLMNOP', 'an AWS key'],
  [`AIza${'b'.repeat(35)}`, 'a Google key'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', 'a JSON web token'],
] as const;

describe('redaction', () => {
  it.each(SECRETS)('takes %s out of any place in a text', (secret) => {
    for (const text of [secret, `a ${secret} b`, `"${secret}"`, `x=${secret};`, JSON.stringify(`a\n${secret}\t`)]) {
      expect(redact(text)).toContain(REDACTED);
      expect(redact(text)).not.toContain(secret.slice(-10));
    }
  });

  it.each([
    ['Authorization: Bearer abcd1234efgh', 'abcd1234efgh'],
    ['Authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ['postgres://bob:hunter2@db/x', 'hunter2'],
    ['{"api_key": "verysecretvalue"}', 'verysecretvalue'],
    ['{\\"password\\":\\"correcthorse\\"}', 'correcthorse'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIabc/+=\n-----END RSA PRIVATE KEY-----', 'MIIabc'],
  ])('takes the credential out of %s', (text, secret) => {
    expect(redact(text)).not.toContain(secret);
  });

  it.each([
    'the bearer certificates of the king',
    'https://example.com/a@b',
    'a task-force of skeptics',
    'ask-me-anything-about-this-topic',
    'the secret of the token',
    'password: no',
  ])('leaves %j alone', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('redacts what stands under a secret name', () => {
    expect(JSON.stringify({ Authorization: 'x', apiKey: 'y', note: 'z' }, redactor)).toBe(
      `{"Authorization":"${REDACTED}","apiKey":"${REDACTED}","note":"z"}`,
    );
  });

  it('is linear: a megabyte of beginnings takes no longer than a megabyte of anything', () => {
    for (const piece of [
      'sk-',
      'eyJ',
      '-eyJ',
      'eyJaaaaaaaa.',
      'bearer ',
      '://a:',
      'password=',
      'password  ',
      '-----BEGIN PRIVATE KEY-----',
      'a:',
      'authorization: basic ',
    ]) {
      const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
      expect(
        fastest(1_000, () => redact(text)),
        piece,
      ).toBeLessThan(1_000);
    }
  });

  it('changes no text without a hint of a secret', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[ -~]{0,40}$/).filter((text) => !/key|token|bearer|pass|sk|:\/\//i.test(text)),
        (text) => redact(text) === text,
      ),
    );
  });
});
