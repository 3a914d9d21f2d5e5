import { setImmediate } from 'node:timers/promises';
import type { Embedder } from '../../core/contract/memory.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { insertVector } from '../file/versions.ts';
import { embedAll } from './embed-one.ts';

const BATCH = 64;

/** How many current entries have no vector of this embedder; all namespaces, or one. */
function countWithoutVector(file: MemoryFile, { id, dimensions }: Embedder): number {
  const row = file.get<{ count: number }>(`SELECT count(*) AS count ${WITHOUT}`, id, dimensions);
  return row?.count ?? 0;
}

const WITHOUT = `FROM versions e WHERE e.valid_to IS NULL AND NOT EXISTS (
  SELECT 1 FROM vectors v JOIN segments s ON s.number = v.segment
  WHERE v.version = e.number AND s.embedder = ? AND s.dimensions = ?)`;

/**
 * Gives every current entry a vector of this embedder, in batches, each written as a whole: after a kill it continues where it
 * was. Vectors of other embedders stay, for processes that still use them, until `vacuum`. Returns how many were written.
 */
export async function reembed(
  open: () => Promise<MemoryFile>,
  embedder: Embedder,
  signal: AbortSignal | undefined,
): Promise<number> {
  let written = 0;
  for (let last = 0; ; ) {
    const file = await open();
    const rows = file.all<{ number: number; namespace: number; text: string }>(
      `SELECT e.number, e.namespace, e.text ${WITHOUT} AND e.number > ? ORDER BY e.number LIMIT ${BATCH}`,
      embedder.id,
      embedder.dimensions,
      last,
    );
    if (rows.length === 0) return written;
    const vectors = await embedAll(
      embedder,
      rows.map((row) => row.text),
      signal,
      true,
    );
    signal?.throwIfAborted();
    const again = await open();
    again.transaction(() => {
      rows.forEach((row, index) => {
        // It may have been changed or removed while the embedder worked.
        const current = again.get('SELECT 1 FROM versions WHERE number = ? AND valid_to IS NULL', row.number);
        const vector = vectors[index];
        if (current !== undefined && vector !== undefined) {
          insertVector(again, row.namespace, row.number, embedder, vector);
          written += 1;
        }
      });
    });
    last = rows.at(-1)?.number ?? last;
    // Searches and the rest of the process come in between.
    await setImmediate();
  }
}

/** Drops the vectors of other embedders, once every current entry has one of this. */
export function dropOtherVectors(file: MemoryFile, embedder: Embedder): void {
  if (countWithoutVector(file, embedder) > 0) return;
  file.run(
    'DELETE FROM vectors WHERE segment IN (SELECT number FROM segments WHERE embedder <> ? OR dimensions <> ?)',
    embedder.id,
    embedder.dimensions,
  );
}

/** Milliseconds after which the next search calls an embedder again that failed in the background. */
const AGAIN_MS = 60_000;

/** Re-embedding off the caller's path: at most one at a time; what fails is tried again by a later search. */
export class BackgroundReembedding {
  readonly #embedder: Embedder | undefined;
  readonly #reembed: () => Promise<number>;
  #running: Promise<void> | undefined;
  #notBefore = 0;

  constructor(embedder: Embedder | undefined, work: () => Promise<number>) {
    this.#embedder = embedder;
    this.#reembed = work;
  }

  /** `now`: an entry without a vector was written this moment. */
  start(file: MemoryFile, now = false): void {
    if (this.#embedder === undefined || this.#running !== undefined) return;
    if (!now && Date.now() < this.#notBefore) return;
    this.#notBefore = Date.now() + AGAIN_MS;
    if (countWithoutVector(file, this.#embedder) === 0) return;
    this.#running = this.#reembed()
      .then(() => undefined)
      .catch(() => undefined)
      .finally(() => {
        this.#running = undefined;
      });
  }

  async settled(): Promise<void> {
    await this.#running;
  }
}
