import type { LeftQuery, MemoryLeft } from '../../core/contract/memory.ts';
import type { Json } from '../../core/values/json.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import type { LongTermMemory } from '../long-term-memory-type.ts';
import type { MemoryHandle } from '../memory-handle.ts';
import type { Provenance } from './removal.ts';

/** So many are kept in a namespace: what is older and nobody came for goes. */
const MAX_KEPT = 100;

/** What runs left for a model to remember something of, until it has: a process that dies in between loses nothing of it. */
export function leftovers(handle: MemoryHandle): Pick<LongTermMemory, 'keepLeft' | 'takeLeft'> {
  const forget = (number: number) => async () => {
    const file = await handle.open();
    file.transaction(() => file.run('DELETE FROM leftovers WHERE number = ?', number));
  };
  return {
    async keepLeft(left, leaseMs) {
      const file = await handle.open();
      return forget(file.transaction(() => insertLeft(file, left, Date.now(), leaseMs)));
    },

    async takeLeft(query, leaseMs) {
      const file = await handle.open();
      // Most runs find none: they need not wait for who writes.
      if (!isAnyLeft(file, query)) return undefined;
      const row = file.transaction(() => takeDue(file, query, Date.now(), leaseMs));
      return row && { left: leftOf(row), end: forget(row.number) };
    },
  };
}

interface LeftRow {
  readonly number: number;
  readonly namespace: string;
  readonly agent: string;
  readonly run: string;
  readonly proposes: number;
  readonly body: string;
}

function leftOf({ namespace, agent, run, proposes, body }: LeftRow): MemoryLeft {
  // What insert wrote.
  const content = JSON.parse(body) as { readonly input: Json; readonly label: MemoryLeft['label'] };
  return { namespace, agent, run, proposes: proposes === 1, ...content };
}

function insertLeft(file: MemoryFile, left: MemoryLeft, now: number, leaseMs: number): number {
  const { namespace, agent, run, proposes, input, label } = left;
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
/** Its lease has run out, or began later than now: the clock was set back since. */
const DUE = '(until <= ?5 OR since > ?5)';

function isAnyLeft(file: MemoryFile, query: LeftQuery): boolean {
  return file.get(`SELECT 1 FROM leftovers WHERE ${OF} LIMIT 1`, ...valuesOf(query)) !== undefined;
}

/** The oldest that is due and was not taken before: what fails twice is not tried for ever. Within a transaction. */
function takeDue(file: MemoryFile, query: LeftQuery, now: number, leaseMs: number): LeftRow | undefined {
  const values = [...valuesOf(query), now];
  file.run(`DELETE FROM leftovers WHERE ${OF} AND ${DUE} AND taken = 1`, ...values);
  const row = file.get<LeftRow>(`SELECT * FROM leftovers WHERE ${OF} AND ${DUE} ORDER BY number LIMIT 1`, ...values);
  if (row !== undefined) {
    file.run('UPDATE leftovers SET taken = 1, since = ?, until = ? WHERE number = ?', now, now + leaseMs, row.number);
  }
  return row;
}

function valuesOf({ agent, proposes, namespace, run }: LeftQuery) {
  return [agent, Number(proposes === true), namespace ?? null, run ?? null];
}

/** Drops what repeats a text that is removed; within a transaction. */
export function dropLeftWith(file: MemoryFile, namespace: string, text: string): void {
  // As it stands within JSON.
  const inside = JSON.stringify(text).slice(1, -1);
  file.run('DELETE FROM leftovers WHERE namespace = ? AND instr(body, ?) > 0', namespace, inside);
}

/** Drops what came from a source, or carries an origin in its label; gives how many. Within a transaction. */
export function dropLeftFrom(file: MemoryFile, { namespace, source, origin }: Provenance): number {
  return file.all(
    `DELETE FROM leftovers WHERE (?1 IS NULL OR namespace = ?1) AND (?2 IS NULL OR agent || '/' || run = ?2)
     AND (?3 IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.label.origins') WHERE value = ?3)) RETURNING number`,
    namespace ?? null,
    source ?? null,
    origin ?? null,
  ).length;
}
