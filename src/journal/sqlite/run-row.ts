import type { DatabaseSync } from 'node:sqlite';
import type { Json } from '../../core/values/json.ts';
import type { RunSummary } from '../record-store.ts';
import { isAlive } from './owner.ts';

/** A run's own row. */
export interface RunRow {
  /** Its short number within the file. */
  readonly run: number;
  readonly id: string;
  readonly agent: string;
  readonly status: string;
  readonly epoch: number;
  readonly host: string | null;
  readonly pid: number | null;
  readonly boot: string | null;
  readonly heartbeat: number | null;
  readonly head: string;
  readonly count: number;
  readonly chain: number;
  readonly created: number;
  readonly updated: number;
  readonly forked_from: string | null;
  readonly result: string | null;
  readonly pending: string;
}

export function runRow(database: DatabaseSync, id: string): RunRow | undefined {
  return database.prepare('SELECT * FROM runs WHERE id = ?').get(id) as RunRow | undefined;
}

/** Without their results, which are as long as the runs were. */
export function runRows(database: DatabaseSync): readonly Omit<RunRow, 'result'>[] {
  const columns =
    'run, id, agent, status, epoch, host, pid, boot, heartbeat, head, count, chain, created, updated, forked_from, pending';
  return database.prepare(`SELECT ${columns} FROM runs ORDER BY created, run`).all() as unknown as RunRow[];
}

/** Whether a process that may be alive has it. */
export function isOwned({ host, pid, boot, heartbeat }: Pick<RunRow, 'host' | 'pid' | 'boot' | 'heartbeat'>): boolean {
  return host !== null && pid !== null && isAlive({ host, pid, boot: boot ?? '' }, heartbeat ?? 0, Date.now());
}

export function summaryOf(row: Omit<RunRow, 'result'>): RunSummary {
  return {
    id: row.id,
    agent: row.agent,
    status: row.status,
    epoch: row.epoch,
    created: row.created,
    updated: row.updated,
    records: row.count,
    ...(row.forked_from !== null && { forkedFrom: row.forked_from }),
    ...(row.host !== null && row.pid !== null && { owner: { host: row.host, pid: row.pid } }),
    pending: JSON.parse(row.pending) as Json[],
  };
}
