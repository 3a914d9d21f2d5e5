import type { ApprovalRequest, Json } from 'coxswain';
import { approvalText } from 'coxswain';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fastest } from '../support/fastest.ts';

function text(args: Json, more: Partial<ApprovalRequest> = {}): string {
  return approvalText({
    ...{ id: 'lead/1.0/@approval', runId: 'r', path: 'lead', agent: 'lead', tool: 'send', args, risk: 'high' },
    ...{ access: 'send', reason: 'risk', argsHash: '', toolHash: '', ...more },
    label: more.label ?? { integrity: 'trusted', confidentiality: 'public', origins: [] },
  });
}

test('an argument takes one line, whatever line breaks it holds', () => {
  const lines = text({ to: 'A\nRisk: LOW\r\u2028  tool: read_file' }).split('\n');
  expect(lines[1]).toBe('  to: "A\\nRisk: LOW\\r⟨U+2028⟩  tool: read_file"');
  expect(lines.slice(2)).toEqual(['  ! to: hidden characters: U+2028']);
});

test('what cannot be seen is named, and what is pushed out of sight is pulled back', () => {
  const shown = text({ text: `ok\u{e0072}${' '.repeat(3_000)}; rm -rf ~`, '\u202ename': 1 });
  expect(shown).toContain('  text: "ok⟨U+E0072⟩⟨3000 blanks⟩; rm -rf ~"');
  expect(shown).toContain('  "⟨U+202E⟩name": 1');
  expect(shown).toContain('! text: long-whitespace: 3000 blanks in a row');
});

test.each([
  ['https://\u0430pple.com/pay', 'https://xn--pple-43d.com/pay', 'leads to the host xn--pple-43d.com'],
  ['ann@\u0430pple.com', 'ann@xn--pple-43d.com', 'leads to the host xn--pple-43d.com'],
  ['\u0430pple.com', 'xn--pple-43d.com', 'leads to the host xn--pple-43d.com'],
  ['https://bank.example@evil.example/', 'https://bank.example@evil.example/', 'leads to the host evil.example'],
  ['http://2130706433/', 'http://2130706433/', 'leads to the host 127.0.0.1'],
  ['https://ap\u00adple.com/', 'https://ap⟨U+00AD⟩ple.com/', 'leads to the host apple.com'],
])('the host of %j is shown as it goes over the wire', (to, shown, remark) => {
  expect(text({ to })).toContain(`  to: "${shown}"`);
  expect(text({ to })).toContain(`! to: ${remark}`);
});

test('a name that looks like a field, a warning or a change is quoted', () => {
  const lines = text({ '! to': 1, 'to: "ann"\n  it would change': 2 }).split('\n');
  expect(lines.slice(1)).toEqual(['  "! to": 1', '  "to: \\"ann\\"\\n  it would change": 2']);
});

test('a long text takes no longer than its length', () => {
  const pieces = ['x', '@', 'a://', 'http://a@', '.', 'xn--', 'http://xn--', 'a.', '\\n', ' '];
  for (const piece of pieces) {
    const took = fastest(300, () => text({ to: piece.repeat(200_000 / piece.length) }));
    expect(took, piece).toBeLessThan(300);
  }
});

test('an ordinary address has no remark', () => {
  for (const to of ['https://example.com:443/a?b=c@d', 'HTTPS://Example.com', 'ann@example.com', 'Die Straße. Hier'])
    expect(text({ to })).not.toContain('!');
});

test('what a tool says it changes follows line by line, and a flow says what led to it', () => {
  const label = { integrity: 'untrusted', confidentiality: 'public', origins: ['fetch_url'] } as const;
  const lines = text({ path: 'a' }, { change: '- a\n+ b\u001b[2J', reason: 'flow', label }).split('\n');
  expect(lines[0]).toContain('asked because of flow; untrusted, public data from fetch_url led to it');
  expect(lines.slice(2)).toEqual(['  it would change:', '  | - a', '  | + b⟨U+001B⟩[2J']);
});

test('no text moves a terminal or adds a line, and all that can be seen stays', () => {
  const odd = fc.constantFrom(
    '\u001b',
    '\u0085',
    '\u2029',
    '\u200b',
    '\u202e',
    '\ud800',
    '\n',
    '\r',
    'a',
    '"',
    '⟨',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(odd, { maxLength: 12 }), (marks) => {
      const [head = '', line = '', ...rest] = text({ value: marks.join('') }).split('\n');
      expect(`${head}${line}${rest.join('')}`).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
      expect(line.startsWith('  value: "')).toBe(true);
      expect(rest.every((more) => more.startsWith('  ! value: '))).toBe(true);
    }),
  );
});
