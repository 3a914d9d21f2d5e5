import { expect, test } from 'vitest';
import { whileBusy } from '../../src/journal/journal-parts.ts';

test('whoever works is busy until the work is over, also where a commit fails', async () => {
  const busy: number[] = [];
  const parts = { activity: { busy: (_self: unknown, by: 1 | -1) => void busy.push(by) } };
  const self = {} as Parameters<typeof whileBusy>[1];
  expect(await whileBusy(parts, self, async () => busy.length)).toBe(1);
  expect(busy).toEqual([1, -1]);
  await expect(whileBusy(parts, self, () => Promise.reject(new Error('the disk is full')))).rejects.toThrow('full');
  expect(busy).toEqual([1, -1, 1, -1]);
});
