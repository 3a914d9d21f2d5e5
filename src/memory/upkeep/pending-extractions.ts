import type { PendingExtraction, PendingExtractionQuery } from '../../core/contract/memory.ts';
import type { Json } from '../../core/values/json.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import type { LongTermMemory, Provenance } from '../long-term-memory-type.ts';
import type { MemoryHandle } from '../search/memory-handle.ts';

/** The most per namespace: beyond it the oldest are dropped. */
const MAX_KEPT = 100;

/** Stores extractions until they are done, so that a process that dies in between loses nothing. */
export function pendingExtractions(
  handle: MemoryHandle,
): Pick<LongTermMemory, 'addPendingExtraction' | 'takePendingExtraction'> {
  const forget = (number: number) => async () => {
    const file = await handle.open();
    file.transaction(() => file.run('DELETE FROM leftovers WHERE number = ?', number));
  };
  return {
    async addPendingExtraction(pending, leaseMs) {
      const file = await handle.open();
      return forget(file.transaction(() => insertPending(file, pending, Date.now(), leaseMs)));
    },

    async takePendingExtraction(query, leaseMs) {
      const file = await handle.open();
      // Most runs find none and need not wait for a writer.
      if (!isAnyPending(file, query)) return undefined;
      const row = file.transaction(() => takeDue(file, query, Date.now(), leaseMs));
      return row && { pending: pendingOf(row), end: forget(row.number) };
    },
  };
}

interface PendingRow {
  readonly number: number;
  readonly namespace: string;
  readonly agent: string;
  readonly run: string;
  readonly proposes: number;
  readonly body: string;
}

function pendingOf({ namespace, agent, run, proposes, body }: PendingRow): PendingExtraction {
  // What insert wrote.
  const content = JSON.parse(body) as { readonly input: Json; readonly label: PendingExtraction['label'] };
  return { namespace, agent, run, proposes: proposes === 1, ...content };
}

function insertPending(file: MemoryFile, pending: PendingExtraction, now: number, leaseMs: number): number {
  const { namespace, agent, run, proposes, input, label } = pending;
  const row = file.get<{ number: number }>(
    `INSERT INTO leftovers (namespace, agent, run, proposes, since, until, body) VALUES (?, ?, ?, ?, ?, ?, ?)
     RETURNING number`,
    namespace,
    agent,
    run,
    Number(proposes === true),
    now,
    now + leaseMs,
    JSON.stringify({ input, label }),
  );
  file.run(
    `DELETE FROM leftovers WHERE namespace = ?1 AND number <= (
       SELECT number FROM leftovers WHERE namespace = ?1 ORDER BY number DESC LIMIT 1 OFFSET ${MAX_KEPT})`,
    namespace,
  );
  return row?.number ?? 0;
}

const OF = 'agent = ?1 AND proposes = ?2 AND (?3 IS NULL OR namespace = ?3) AND (?4 IS NULL OR run = ?4)';
/** Its lease has expired, or it began later than now: the clock was set back. */
const DUE = '(until <= ?5 OR since > ?5)';

function isAnyPending(file: MemoryFile, query: PendingExtractionQuery): boolean {
  return file.get(`SELECT 1 FROM leftovers WHERE ${OF} LIMIT 1`, ...valuesOf(query)) !== undefined;
}

/** The oldest that is due and was not taken before, so that a failing extraction is not repeated for ever. Within a transaction. */
function takeDue(
  file: MemoryFile,
  query: PendingExtractionQuery,
  now: number,
  leaseMs: number,
): PendingRow | undefined {
  const values = [...valuesOf(query), now];
  file.run(`DELETE FROM leftovers WHERE ${OF} AND ${DUE} AND taken = 1`, ...values);
  const row = file.get<PendingRow>(`SELECT * FROM leftovers WHERE ${OF} AND ${DUE} ORDER BY number LIMIT 1`, ...values);
  if (row !== undefined) {
    file.run('UPDATE leftovers SET taken = 1, since = ?, until = ? WHERE number = ?', now, now + leaseMs, row.number);
  }
  return row;
}

function valuesOf({ agent, proposes, namespace, run }: PendingExtractionQuery) {
  return [agent, Number(proposes === true), namespace ?? null, run ?? null];
}

/** Drops extractions that contain a removed text; within a transaction. */
export function dropPendingWith(file: MemoryFile, namespace: string, text: string): void {
  // The text as JSON escapes it.
  const escaped = JSON.stringify(text).slice(1, -1);
  file.run('DELETE FROM leftovers WHERE namespace = ? AND instr(body, ?) > 0', namespace, escaped);
}

/** Drops extractions from a source, or with an origin in their label; returns how many. Within a transaction. */
export function dropPendingFrom(file: MemoryFile, { namespace, source, origin }: Provenance): number {
  return file.all(
    `DELETE FROM leftovers WHERE (?1 IS NULL OR namespace = ?1) AND (?2 IS NULL OR agent || '/' || run = ?2)
     AND (?3 IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.label.origins') WHERE value = ?3)) RETURNING number`,
    namespace ?? null,
    source ?? null,
    origin ?? null,
  ).length;
}
