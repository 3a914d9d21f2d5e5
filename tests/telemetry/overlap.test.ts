import { defineAgent, defineSupervisor, type RunRecord, runAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';

interface Interval {
  readonly from: bigint;
  readonly to: bigint;
}

/** The intervals of the spans of one kind, from the records they are views of. */
function intervals(records: readonly RunRecord[], kind: RunRecord['kind'], below: string): Interval[] {
  return records.flatMap(({ kind: its, event, key, since, time }) =>
    its === kind && event === 'done' && key.startsWith(below) && since !== undefined ? [{ from: since, to: time }] : [],
  );
}

function overlaps(spans: readonly Interval[]): number {
  return spans.filter((a) => spans.some((b) => a !== b && a.from < b.to && b.from < a.to)).length;
}

const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'You work.' });
const lead = defineSupervisor({ name: 'lead', instructions: 'You lead.', workers: [worker] });

async function recordsOf(concurrency: number): Promise<RunRecord[]> {
  const records: RunRecord[] = [];
  let waiting: (() => void)[] = [];
  /** Ends once all that may run at once are there: then they overlap, whatever the machine does. */
  const together = () =>
    new Promise<string>((resolve) => {
      waiting.push(() => resolve('done'));
      if (waiting.length < Math.min(3, concurrency)) return;
      for (const go of waiting) go();
      waiting = [];
    });
  const tasks = ['a', 'b', 'c'].map((task) => toolCall('delegate_worker', { task }));
  const model = scriptedModel({ lead: [callTools(...tasks), 'all'], worker: [together, together, together] });
  const result = await runAgent(lead, 'go', {
    model,
    limits: { concurrency },
    views: [(record) => records.push(record)],
  });
  expect(result.status).toBe('completed');
  return records;
}

describe('spans of parallel work', () => {
  it('overlap, workers and calls', async () => {
    const records = await recordsOf(8);
    expect(overlaps(intervals(records, 'agent', 'lead/'))).toBe(3);
    expect(overlaps(intervals(records, 'model', 'lead/1.'))).toBe(3);
  });

  it('do not overlap at calls where only one may run at once', async () => {
    const records = await recordsOf(1);
    expect(intervals(records, 'model', 'lead/1.')).toHaveLength(3);
    expect(overlaps(intervals(records, 'model', 'lead/1.'))).toBe(0);
  });
});
