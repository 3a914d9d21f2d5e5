import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/message.ts';
import { messagesText, outputText, valueText } from '../../src/telemetry/parts.ts';

const MOST = 140_000;

describe('content of spans', () => {
  it('is JSON of bounded size, however long the history and its texts are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constant('x'.repeat(70_000)),
      fc.constant('\u{1f600}'.repeat(40_000)),
    );
    const message = text.map((content): Message => ({ role: 'user', content }));
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        const written = messagesText(messages);
        expect(written.length).toBeLessThan(MOST);
        expect(Array.isArray(JSON.parse(written))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('keeps the newest messages and says how many it left out', () => {
    const messages = Array.from(
      { length: 10 },
      (_, at): Message => ({ role: 'user', content: `${at}${'x'.repeat(20_000)}` }),
    );
    const shown = JSON.parse(messagesText(messages)) as { parts: { content: string }[] }[];
    expect(shown[0]?.parts[0]?.content).toBe('[7 earlier messages left out]');
    expect(shown.map(({ parts }) => parts[0]?.content.at(0))).toEqual(['[', '7', '8', '9']);
  });

  it('names pictures, files and addresses by their modality', () => {
    const content = [
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'file', mediaType: 'application/pdf', data: { url: 'https://bob:hunter2@host/a.pdf' } },
    ] as const;
    expect(JSON.parse(messagesText([{ role: 'user', content }]))[0].parts).toEqual([
      { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'AAAA' },
      { type: 'uri', modality: 'document', mime_type: 'application/pdf', uri: 'https://[redacted]@host/a.pdf' },
    ]);
  });

  it('keeps reasoning apart from text, and redacts values below a secret name', () => {
    expect(outputText([{ type: 'reasoning', text: 'r' }], 'stop')).toContain('"type":"reasoning","content":"r"');
    expect(valueText({ password: 'hunter2', note: 'a' })).toBe('{"password":"[redacted]","note":"a"}');
  });
});
