/**
 * The cost of redacting a megabyte of text that looks like the beginning of a secret again and again: a pattern that
 * backtracks would show here. `npm run bench:redaction`; the goal is 500 ms each.
 */
import { redaction } from 'coxswain';

const GOAL_MS = 500;
const NEAR_MISSES = [
  ...['sk-', 'eyJaaaaaaaa.', 'bearer ', 'password  ', '://a:', '-----BEGIN PRIVATE KEY-----', 'authorization: basic '],
  ...[
    '+1 ',
    '+49 30 1',
    '4111 1111 1111 1112 ',
    '2341 2341 2345 ',
    'DE89 3704 0044 ',
    'AB12',
    '12345678 ',
    '0',
    '[',
    '{"pin',
  ],
  ...['C-12345 ', 'correct horse 7'],
];

const plain = redaction();
const everything = redaction({
  personal: 'all',
  secrets: ['correct horse 7Q'],
  patterns: { customer: /\bC-\d{6}\b/ },
  fields: ['pin'],
});

function fastest(work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    const since = performance.now();
    work();
    best = Math.min(best, performance.now() - since);
  }
  return best;
}

const megabyte = (piece: string) => piece.repeat(Math.ceil(1_000_000 / piece.length)).slice(0, 1_000_000);
const ordinary = megabyte('The tide turns at noon, and the harbour empties. ');
const base = fastest(() => everything.text(ordinary));
console.log(
  `1 MB of ordinary text: ${base.toFixed(1)} ms with everything, ${fastest(() => plain.text(ordinary)).toFixed(1)} ms with known forms only`,
);
let missed = 0;
for (const piece of NEAR_MISSES) {
  const text = megabyte(piece);
  const ms = fastest(() => everything.text(text));
  if (ms > GOAL_MS) missed += 1;
  console.log(`1 MB of ${JSON.stringify(piece)}: ${ms.toFixed(1)} ms, ${(ms / base).toFixed(1)} times ordinary text`);
}
console.log(`${NEAR_MISSES.length - missed} of ${NEAR_MISSES.length} within ${GOAL_MS} ms`);
