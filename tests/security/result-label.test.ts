import { expect, test } from 'vitest';
import { resultLabel } from '../../src/security/result-label.ts';

const NONE: ReadonlySet<string> = new Set();

test('a result is untrusted, public and from its tool', () => {
  expect(resultLabel({ name: 'search' }, NONE)).toEqual({
    integrity: 'untrusted',
    confidentiality: 'public',
    origins: ['search'],
  });
});
test('the fields that a tool’s result names replace these', () => {
  expect(resultLabel({ name: 'crm', result: { confidentiality: 'private' } }, NONE)).toEqual({
    integrity: 'untrusted',
    confidentiality: 'private',
    origins: ['crm'],
  });
  expect(resultLabel({ name: 'save', result: { integrity: 'trusted', origins: [] } }, NONE)).toMatchObject({
    integrity: 'trusted',
    origins: [],
  });
});
test('the run’s trust list raises integrity and nothing else', () => {
  const tool = { name: 'crm', result: { confidentiality: 'secret', integrity: 'untrusted' } } as const;
  expect(resultLabel(tool, new Set(['crm']))).toMatchObject({ integrity: 'trusted', confidentiality: 'secret' });
  expect(resultLabel(tool, new Set(['other']))).toMatchObject({ integrity: 'untrusted' });
});
test('the same tool gives the same frozen object', () => {
  const tool = { name: 'search' };
  const label = resultLabel(tool, NONE);
  expect(resultLabel(tool, new Set())).toBe(label);
  expect(resultLabel(tool, new Set(['search']))).toBe(resultLabel(tool, new Set(['search'])));
  expect(Object.isFrozen(label) && Object.isFrozen(label.origins)).toBe(true);
});
