import fc from 'fast-check';
import type { Message } from '../../src/core/values/message.ts';

/** A group of a transcript: a user's message, or a turn with the results of its calls. */
export type Group = readonly Message[];

const text = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.integer({ min: 0, max: 2_000 }).map((length) => 'word '.repeat(length / 5)),
  fc.integer({ min: 0, max: 400 }).map((length) => '記'.repeat(length)),
);

const user: fc.Arbitrary<Group> = text.map((content) => [{ role: 'user', content }]);

const turn: fc.Arbitrary<Group> = fc.tuple(text, fc.array(text, { maxLength: 3 })).map(([said, results]) => [
  {
    role: 'assistant',
    content: [
      { type: 'text', text: said },
      ...results.map((result, index) => ({
        type: 'tool_call' as const,
        id: `call_${index}`,
        name: 'search',
        arguments: JSON.stringify({ query: result.slice(0, 20) }),
      })),
    ],
  },
  ...results.map((content, index) => ({
    role: 'tool' as const,
    callId: `call_${index}`,
    name: 'search',
    content,
    isError: false,
  })),
]);

/** Transcripts as a loop makes them: a brief, then turns with their results and now and then a user's message. */
export const groups = transcriptsOf({});
/** The same, most of them with a good number of turns. */
export const manyGroups = transcriptsOf({ minLength: 15 });

function transcriptsOf(lengths: fc.ArrayConstraints): fc.Arbitrary<readonly Group[]> {
  const rest = fc.oneof({ weight: 4, arbitrary: turn }, { weight: 1, arbitrary: user });
  return fc.tuple(user, fc.array(rest, { maxLength: 40, ...lengths })).map(([brief, more]) => [brief, ...more]);
}

/** The same, with some of the user's messages pinned. */
export function pinned(transcripts: fc.Arbitrary<readonly Group[]>): fc.Arbitrary<readonly Group[]> {
  return fc
    .tuple(transcripts, fc.infiniteStream(fc.integer({ min: 0, max: 3 })))
    .map(([parts, draws]) =>
      parts.map((group) =>
        group.map((message) =>
          message.role === 'user' && draws.next().value === 0 ? { ...message, pinned: true } : message,
        ),
      ),
    );
}
