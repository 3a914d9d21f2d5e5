import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/values/message.ts';
import { boundedValue, inputMessages, outputMessages } from '../../src/telemetry/otel/parts.ts';

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
        const written = inputMessages(messages);
        expect(JSON.stringify(written).length).toBeLessThan(MOST);
        expect(written).toEqual(JSON.parse(JSON.stringify(written)));
      }),
      { numRuns: 50 },
    );
  });

  it('keeps the newest messages and says how many it left out', () => {
    const messages = Array.from(
      { length: 10 },
      (_, at): Message => ({ role: 'user', content: `${at}${'x'.repeat(20_000)}` }),
    );
    const shown = inputMessages(messages) as { parts: { content: string }[] }[];
    expect(shown[0]?.parts[0]?.content).toBe('[7 earlier messages left out]');
    expect(shown.map(({ parts }) => parts[0]?.content.at(0))).toEqual(['[', '7', '8', '9']);
  });

  it('names pictures, files and addresses by their modality', () => {
    const content = [
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'file', mediaType: 'application/pdf', data: { url: 'https://bob:hunter2@host/a.pdf' } },
    ] as const;
    expect(inputMessages([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'AAAA' },
          { type: 'uri', modality: 'document', mime_type: 'application/pdf', uri: 'https://[redacted]@host/a.pdf' },
        ],
      },
    ]);
  });

  it('keeps reasoning apart from text, and redacts values below a secret name', () => {
    const parts = [{ type: 'reasoning', content: 'r' }];
    const turn = [{ type: 'reasoning', text: 'r' }] as const;
    expect(outputMessages(turn, 'stop')).toEqual([{ role: 'assistant', parts, finish_reason: 'stop' }]);
    expect(boundedValue({ password: 'hunter2', note: 'a' })).toEqual({ password: '[redacted]', note: 'a' });
  });

  it('keeps the form of a value that is too long: its long texts are cut, and only then the whole', () => {
    const long = { note: 'x'.repeat(70_000), page: 1 };
    expect(boundedValue(long)).toEqual({ note: `${'x'.repeat(2_048)} [67952 characters left out]`, page: 1 });
    const wide = Array.from({ length: 20_000 }, (_, at) => ({ at }));
    expect(boundedValue(wide)).toMatch(/^\[\{"at":0\}.* characters left out\]$/s);
  });
});
