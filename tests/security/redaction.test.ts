import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  type PersonalKind,
  redaction,
  runAgent,
} from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PERSONAL, PERSONAL_NUMBERS } from '../../src/security/redaction/personal-numbers.ts';
import { textForms } from '../../src/security/redaction/redaction.ts';
import { fastest } from '../support/fastest.ts';
import { folderWith } from '../tools/files.ts';

const NUMBERS: { readonly [kind in PersonalKind]: readonly string[] } = {
  phone: ['+44 20 7946 0958', '0049 30 123456-78'],
  card: ['4111 1111 1111 1111', '378282246310005', '5555-5555-5555-4444'],
  iban: ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432', 'NO9386011117947'],
  'be-nn': ['85.07.30-033.28', '93051822361'],
  'br-cpf': ['529.982.247-25'],
  'de-tax': ['65929970489', '86 095 742 719'],
  'es-dni': ['12345678Z', 'X1234567L'],
  'fr-nir': ['2 55 08 14 168 025 38'],
  'in-aadhaar': ['2341 2341 2346'],
  'it-cf': ['RSSMRA85T10A562S'],
  'nl-bsn': ['111222333', '1234.56.782'],
  'pl-pesel': ['44051401359'],
  'se-pnr': ['811228-9874', '19811228-9874'],
  'uk-nhs': ['943 476 5919'],
  'us-ssn': ['536-90-4399'],
};

describe('numbers of people', () => {
  test.each(PERSONAL)('%s is found by its form, wherever it stands', (kind) => {
    const clean = redaction({ personal: [kind as PersonalKind] });
    for (const number of NUMBERS[kind as PersonalKind])
      for (const around of [`${number}`, `it is ${number}, yes`, `"${number}"`, `${number} AND MORE`, `(${number})`])
        expect([around, clean.text(around)]).toEqual([
          around,
          around.replace(number, expect.any(String) && clean.text(number)),
        ]);
  });

  test('another last digit is no such number', () => {
    for (const kind of PERSONAL) {
      if (kind === 'phone' || kind === 'us-ssn') continue;
      const clean = redaction({ personal: [kind as PersonalKind] });
      for (const number of NUMBERS[kind as PersonalKind]) {
        const last = number.at(-1) as string;
        const other = /\d/.test(last) ? String((Number(last) + 1) % 10) : last === 'A' ? 'B' : 'A';
        const wrong = number.slice(0, -1) + other;
        expect([kind, clean.text(wrong)]).toEqual([kind, wrong]);
      }
    }
  });

  test('one wrong digit or two that changed places are noticed by the stronger of the rules', () => {
    const { isValid } = PERSONAL_NUMBERS['in-aadhaar'];
    const digits = [...'234123412346'];
    for (let place = 0; place < 12; place += 1) {
      for (let add = 1; add < 10; add += 1) {
        const wrong = digits.with(place, String((Number(digits[place]) + add) % 10)).join('');
        expect(isValid(wrong)).toBe(false);
      }
      if (place === 0 || digits[place] === digits[place - 1]) continue;
      const turned = digits
        .with(place, digits[place - 1] as string)
        .with(place - 1, digits[place] as string)
        .join('');
      expect(isValid(turned)).toBe(false);
    }
  });

  test('two numbers side by side are two, also where the first has the form of more', () => {
    const clean = redaction({ personal: ['card', 'pl-pesel', 'nl-bsn'] });
    expect(clean.text('44051401359 5555-5555-5555-4444')).toMatch(/^\[pl-pesel:\w+\] \[card:\w+\]$/);
    expect(clean.text('412 4111 1111 1111 1111')).toMatch(/^412 \[card:\w+\]$/);
  });

  test('times, identifiers, hashes and prices are none', () => {
    const clean = redaction({ personal: 'all' });
    for (const text of [
      '2026-11-30T02:27:45.123Z',
      '4bf92f3577b34da6a3ce929d0e0e4736',
      '1,234,567.89',
      '10.0.0.1:8080',
      'v24.21.0',
      'call_1',
    ])
      expect(clean.text(text)).toBe(text);
  });
});

describe('what the user names', () => {
  test('a secret goes in every form in which it is sent', () => {
    const secret = 'correct horse/7Q "ü"';
    const clean = redaction({ secrets: [secret] });
    for (const form of textForms(secret)) {
      expect(clean.text(`a ${form} b`)).toBe('a [redacted] b');
    }
    expect(clean.text(JSON.stringify({ url: `https://h.example/?k=${encodeURIComponent(secret)}` }))).not.toContain(
      'horse',
    );
    clean.add('another one');
    expect(clean.text('another one!')).toBe('[redacted]!');
  });

  test('equal values have equal placeholders, in each process with the same key', () => {
    const patterns = { customer: /\bC-\d{6}\b/ };
    const [one, two] = [redaction({ patterns, key: 'k' }), redaction({ patterns, key: 'k' })];
    const text = one.text('C-123456 wrote to C-654321, then C-123456');
    expect(text).toMatch(/^\[customer:([0-9a-f]{8})\] wrote to \[customer:(?!\1)[0-9a-f]{8}\], then \[customer:\1\]$/);
    expect(two.text('C-123456')).toBe(one.text('C-123456'));
    expect(redaction({ patterns }).text('C-123456')).not.toBe(one.text('C-123456'));
  });

  test('a field is taken out wherever it stands, also in JSON within JSON', () => {
    const clean = redaction({ fields: ['pin'] });
    expect(clean.json({ Pin: 1234, list: [{ pin: 'a b' }], pins: 'stays' })).toEqual({
      Pin: '[redacted]',
      list: [{ pin: '[redacted]' }],
      pins: 'stays',
    });
    const nested = JSON.stringify({ a: JSON.stringify({ pin: 'my "secret" words' }) });
    expect(clean.text(nested)).not.toContain('secret');
    expect(clean.text('{"a": 1}')).toBe('{"a": 1}');
  });

  test('a redacted text stays as it is when it is redacted again', () => {
    const clean = redaction({ personal: 'all', secrets: ['hunter22'], key: 'k' });
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...Object.values(NUMBERS).flat(), 'hunter22'), fc.string())),
        (parts) => {
          const once = clean.text(parts.join(' '));
          expect(clean.text(once)).toBe(once);
        },
      ),
    );
  });

  test.each([
    [{ secrets: ['abc'] }, /less than four/],
    [{ secrets: 'abcd' }, /expected an array/],
    [{ personal: ['shoe-size'] }, /"shoe-size" is not known/],
    [{ patterns: { A: /a/ } }, /illegal name/],
    [{ patterns: { a: /a*/ } }, /fits the empty text/],
    [{ patterns: { a: 'a' } }, /Give a RegExp/],
    [{ key: '' }, /redaction\.key/],
    [{ mask: true }, /unknown option/],
  ])('%j is refused', (options, message) => {
    expect(() => redaction(options as never)).toThrow(ConfigurationError);
    expect(() => redaction(options as never)).toThrow(message);
  });
});

test('a megabyte of near misses takes linear time', () => {
  const clean = redaction({
    personal: 'all',
    secrets: ['correct horse 7Q'],
    patterns: { customer: /\bC-\d{6}\b/ },
    fields: ['pin'],
  });
  for (const piece of [
    '+1 ',
    '+49 30 1',
    '4111 1111 1111 1112 ',
    '1 ',
    '12345678 ',
    'DE89 3704 0044 ',
    'AB12',
    '{"pin',
    '2341 2341 2345 ',
    'C-12345 ',
    'correct horse 7',
    '0',
    '[',
  ]) {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect(
      fastest(2_000, () => clean.text(text)),
      piece,
    ).toBeLessThan(2_000);
  }
});

describe('in a run', () => {
  const privacy = redaction({ personal: ['iban'], secrets: ['correct horse 7Q'], key: 'k' });
  const IBAN = 'DE89 3704 0044 0532 0130 00';
  const sign = privacy.text(IBAN);

  test('a model is told placeholders: in instructions, input and results', async () => {
    const find = defineTool({
      name: 'find',
      description: 'Finds',
      access: 'read',
      input: { type: 'object', properties: {}, additionalProperties: false },
      execute: () => [{ type: 'text', text: `${IBAN} and correct horse 7Q` }],
    });
    const agent = defineAgent({ name: 'clerk', instructions: `Never pay to ${IBAN}.`, tools: [find] });
    const model = scriptedModel([callTools(toolCall('find', {})), 'done']);
    const input = [
      { role: 'user', content: `pay ${IBAN}` },
      { role: 'assistant', content: `I know ${IBAN}` },
      { role: 'user', content: 'then pay' },
    ] as const;
    await runAgent(agent, input, { model, redaction: privacy });
    const told = JSON.stringify(model.requests);
    expect(told).not.toMatch(/DE89|correct horse/);
    expect(told.split(sign).length - 1).toBeGreaterThanOrEqual(5);
  });

  test('a worker is told placeholders, whether a model or code drives it', async () => {
    const seen: unknown[] = [];
    const coder = defineAgent({
      name: 'coder',
      description: 'Code',
      async run(input) {
        seen.push(input);
        return 'ok';
      },
    });
    const talker = defineAgent({ name: 'talker', description: 'Talks', instructions: 'Talk.' });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [coder, talker] });
    const model = scriptedModel({
      lead: [
        callTools(toolCall('delegate_coder', { task: IBAN }), toolCall('delegate_talker', { task: IBAN })),
        'done',
      ],
      talker: ['ok'],
    });
    await runAgent(lead, 'go', { model, redaction: privacy });
    expect(seen).toEqual([{ task: sign }]);
    expect(JSON.stringify(model.requests.at(-2))).toContain(sign);
    await expect(runAgent(lead, 'go', { model, redaction: {} as never })).rejects.toThrow(/options\.redaction/);
  });

  test('a log takes out what the user named and what a schema marks, and counts it', async () => {
    const login = defineTool({
      name: 'login',
      description: 'Logs in',
      access: 'read',
      input: {
        type: 'object',
        properties: { user: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
        additionalProperties: false,
      },
      execute: () => `hello [redacted], ${IBAN}\u001b[31m\u009b\u007f`,
    });
    const agent = defineAgent({ name: 'clerk', instructions: 'Log in.', tools: [login] });
    const file = join(folderWith(), 'log.jsonl');
    const model = scriptedModel([callTools(toolCall('login', { user: 'ann', pin: 'four words of mine' })), 'done']);
    await runAgent(agent, 'go', { model, views: [jsonlLog(file, { content: 'redacted', redaction: privacy })] });
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('ann');
    expect(text).not.toMatch(/four words|DE89/);
    expect(text).toContain(sign);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may stand in the file
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    const counts = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).redactions ?? 0);
    expect(counts).toEqual([0, 3, 2, 0]);
  });
});
