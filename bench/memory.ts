/** How fast the memory is: `npm run bench:memory`. With SMALL=1 without the two largest segments, which need 6 GB. */
import { goalLine, row } from './memory-report.ts';
import { scanFigures } from './memory-scan.ts';
import { crowd, insertion, manyEntries } from './memory-store.ts';

const sizes: [rows: number, dimensions: number, rounds: number][] = [
  [10_000, 384, 40],
  [100_000, 384, 20],
  [100_000, 1_536, 10],
  [1_000_000, 384, 6],
];
if (process.env.SMALL !== undefined) sizes.splice(2);

console.log(`node ${process.version}, one thread where none are named, least of interleaved rounds, ms\n`);
row('top ten of', ['read once', 'f32', 'i8 + rescore', 'with threads', 'plain, sorted', 'objects', 'usearch']);
const goals: string[] = [];
for (const [rows, dimensions, rounds] of sizes) {
  const figures = await scanFigures(rows, dimensions, rounds);
  const { title, read, f32, i8, threads, plain, objects, usearch } = figures;
  row(title, [read, f32, i8, threads, plain, objects ?? '–', usearch ?? 'not installed']);
  goals.push(goalLine(`${title}, f32 ÷ reading once`, f32 / read, 1.5, '×', 'most'));
  goals.push(goalLine(`${title}, recall@10 of f32`, figures.recallF32, 1, '', 'least'));
  goals.push(goalLine(`${title}, recall@10 of i8`, figures.recallI8, 1, '', 'least'));
  if (rows === 100_000 && dimensions === 384) goals.push(goalLine(`${title}, f32 ÷ i8`, f32 / i8, 2, '×', 'least'));
}

console.log('');
const inserted = await insertion(10_000);
row('10,000 entries, words', [
  `one by one ${inserted.oneByOne.toFixed(0)} ms`,
  `at once ${inserted.atOnce.toFixed(0)} ms`,
]);
const many = await manyEntries(100_000);
row('100,000 entries × 384', [
  `inserted ${(many.insertMs / 1_000).toFixed(1)} s`,
  `opened ${many.openMs.toFixed(1)} ms`,
  `first search ${many.firstMs.toFixed(0)} ms`,
  `${many.bytesPerEntry.toFixed(0)} bytes an entry`,
]);
row(
  'a search, least / p50 / p99',
  [many.words, many.both, many.narrow, many.wide].map(
    ([name, ...times]) => `${name} ${times.map((ms) => ms.toFixed(2)).join(' / ')}`,
  ),
);
goals.push(goalLine('a search of 100,000 entries, both legs, p50', many.both[2], 10, 'ms', 'most'));
const people = await crowd(20, 50);
row('20 writers and searchers', [
  `${people.perSecond.toFixed(0)} calls/s`,
  `lost ${people.lost}`,
  `twice ${people.twice}`,
]);

console.log(`\nGoals\n${goals.join('\n')}`);
