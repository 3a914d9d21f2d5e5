import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTATIONS } from './mutations.ts';

test('the text of every mutation stands once in its file: one that does not breaks nothing', () => {
  const lost = MUTATIONS.filter(({ file, search }) => readFileSync(file, 'utf8').split(search).length !== 2);
  expect(lost.map(({ file, search }) => `${file}: ${search}`)).toEqual([]);
});
