/**
 * Plays every wire case (provider misbehaviour as files) through the public API: the real loop, the real adapters, the real
 * SDKs, a real server on loopback. The folder is WIRE_CASES, else `../shared/wire-cases` beside the checkout.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { playWireCase, type WireCase, type WireServer } from './play-wire-case.ts';

interface Kit {
  loadCase(file: string): WireCase;
  startCase(wireCase: WireCase): Promise<WireServer>;
  compare(wireCase: WireCase, outcome: object, report: unknown): { readonly failures: readonly string[] };
}

/** A folder of case files, with or without the server beside it. */
const given = process.env.WIRE_CASES;
const kits = [given, '../shared/wire-cases', '../../shared/wire-cases'].filter((path) => path !== undefined);
const server = kits.map((path) => resolve(path, 'serve.mjs')).find(existsSync);
const folder = kits.flatMap((path) => [resolve(path, 'cases'), resolve(path)]).find(existsSync);
/** The beginning of a file's name: only these are played. */
const only = process.env.WIRE_CASE ?? '';
const files =
  server === undefined || folder === undefined
    ? []
    : readdirSync(folder).filter(
        (file) => file.endsWith('.json') && file !== 'case.schema.json' && file.startsWith(only),
      );
const count = { passed: 0, failed: 0, skipped: 0 };

if (server === undefined || folder === undefined || files.length === 0) {
  test('the wire cases are skipped where their folder is missing', () => {
    count.skipped += 1;
    process.stdout.write('skipped: no wire cases in ../shared/wire-cases; name their folder in WIRE_CASES\n');
  });
} else {
  describe('a run survives', () => {
    test.each(files)('%s', async (file) => {
      count.failed += 1;
      const { loadCase, startCase, compare }: Kit = await import(pathToFileURL(server).href);
      const wireCase = loadCase(join(folder, file));
      const played = await startCase(wireCase);
      try {
        const outcome = await playWireCase(wireCase, played.baseURL);
        expect(compare(wireCase, outcome, played.report()).failures).toEqual([]);
      } finally {
        await played.close();
      }
      count.failed -= 1;
      count.passed += 1;
    });
  });
}

afterAll(() => {
  process.stdout.write(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
});
