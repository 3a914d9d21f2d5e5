import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type EventBody,
  eventState,
  eventsOf,
  modelDelta,
  type RunEvent,
  runFailed,
  toolProgress,
} from '../../src/core/contract/events-of-record.ts';
import { node, recorder } from '../telemetry/recorder.ts';
import { agentOut, toolIn, toolOut, usage, writeTeam } from '../telemetry/team.ts';

function eventsFrom(write: (to: ReturnType<typeof recorder>) => void): EventBody[] {
  const to = recorder();
  write(to);
  const state = eventState();
  const events = to.records.flatMap((record) => eventsOf(record, state));
  expect(state.open.size).toBe(0);
  return events;
}

const here = node('lead', 'lead');
const tool = { kind: 'tool', key: 'lead/1.0', node: here, step: 1 } as const;

describe('events of records', () => {
  it('tell a team run from run.start to run.end', () => {
    expect(eventsFrom(writeTeam).map((event) => `${event.type} ${event.key}`)).toEqual([
      'run.start lead',
      'agent.start lead',
      'step.start lead/1',
      'model.start lead/1/model',
      'model.retry lead/1/model',
      'model.end lead/1/model',
      'tool.start lead/1.0',
      'agent.start lead/1.0/researcher',
      'step.start lead/1.0/researcher/1',
      'model.start lead/1.0/researcher/1/model',
      'model.end lead/1.0/researcher/1/model',
      'approval.request lead/1.0/researcher/1.0/@approval',
      'approval.decision lead/1.0/researcher/1.0/@approval',
      'tool.start lead/1.0/researcher/1.0',
      'tool.end lead/1.0/researcher/1.0',
      'step.end lead/1.0/researcher/1',
      'agent.end lead/1.0/researcher',
      'tool.end lead/1.0',
      'step.end lead/1',
      'step.start lead/2',
      'model.start lead/2/model',
      'model.end lead/2/model',
      'step.end lead/2',
      'agent.end lead',
      'run.end lead',
    ]);
  });

  it('have run, trace, number, time, node and the parent step', () => {
    const event = eventsFrom(writeTeam).find(({ type, path }) => type === 'agent.start' && path.includes('/'));
    expect(event).toEqual({
      type: 'agent.start',
      runId: 'run-1',
      traceId: 'a'.repeat(32),
      record: 9,
      time: '2027-01-15T08:00:00.009Z',
      key: 'lead/1.0/researcher',
      path: 'lead/1.0/researcher',
      agent: 'researcher',
      step: 0,
      parentStep: { path: 'lead', step: 1, toolCallId: 'call_a' },
    });
  });

  it('have duration, usage and status or isError on every end', () => {
    const ends = eventsFrom(writeTeam).filter((event) => event.type.endsWith('.end'));
    expect(ends).toHaveLength(11);
    for (const event of ends) {
      expect(event).toMatchObject({ durationMs: expect.any(Number), usage: { modelCalls: expect.any(Number) } });
      expect('status' in event || 'isError' in event).toBe(true);
    }
    expect(ends[0]).toMatchObject({
      durationMs: 3.000003,
      calls: ['delegate_researcher'],
      text: '',
      stop: 'tool_calls',
    });
  });

  it('give a step what its model calls spent, and a delegate call what its worker spent', () => {
    const events = eventsFrom(writeTeam);
    expect(events.find(({ type, key }) => type === 'step.end' && key === 'lead/1')).toMatchObject({ usage });
    expect(events.find(({ type, key }) => type === 'tool.end' && key === 'lead/1.0')).toMatchObject({
      usage: { inputTokens: 3 },
    });
  });

  it('give a refused call a start and an end', () => {
    const events = eventsFrom((to) =>
      to.add({ ...tool, event: 'failed', request: toolIn(), ran: false, value: toolOut({ isError: true }) }),
    );
    expect(events).toMatchObject([
      { type: 'tool.start', name: 'search', callId: 'call_a' },
      { type: 'tool.end', isError: true, durationMs: 0 },
    ]);
  });

  it('end a cancelled call with what cancelled it, also where the record does not repeat the request', () => {
    const error = { kind: 'cancelled', message: 'stop', retryable: false };
    const events = eventsFrom((to) => {
      to.add({ ...tool, event: 'started', request: toolIn() });
      to.add({ ...tool, event: 'cancel', value: error });
    });
    expect(events[1]).toMatchObject({ type: 'tool.end', name: 'search', isError: true, error });
  });

  it('show the denial of a rule as a decision that nobody was asked for', () => {
    const value = { decision: 'deny', reason: 'deny search', tool: 'search', callId: 'call_a' } as const;
    expect(
      eventsFrom((to) => to.add({ kind: 'decision', event: 'done', key: 'lead/1.0', node: here, step: 1, value })),
    ).toMatchObject([
      { type: 'approval.decision', id: 'lead/1.0', decision: { decision: 'deny', reason: 'deny search' } },
    ]);
  });

  it('show a suspended run with what it waits for, as its last event', () => {
    const out = { ...agentOut({ status: 'suspended' }), pending: [] };
    expect(
      eventsFrom((to) => to.add({ kind: 'run', event: 'suspended', key: 'lead', node: here, step: 1, value: out })),
    ).toMatchObject([{ type: 'run.suspended', status: 'suspended', pending: [] }]);
  });

  it('exist for what is never recorded: deltas, progress and a run that fails', () => {
    const at = { run: 'run-1', traceId: 'b'.repeat(32), key: 'lead/1/model', node: here, step: 1, time: 5_000_000n };
    expect(modelDelta(at, 2, { type: 'text', text: 'a' })).toMatchObject({
      type: 'model.delta',
      attempt: 2,
      delta: { text: 'a' },
    });
    expect(toolProgress(at, { name: 'search', callId: 'c' }, { done: 1 })).toMatchObject({
      name: 'search',
      progress: { done: 1 },
    });
    const failed = runFailed({ ...at, since: 1_000_000n }, { kind: 'journal', message: 'full', retryable: false });
    expect(failed).toMatchObject({ type: 'run.end', status: 'failed', durationMs: 4, error: { kind: 'journal' } });
    expect('record' in failed).toBe(false);
  });

  it('show limits and compactions, and nothing of what has no event', () => {
    const base = { key: 'lead/1/@x', node: here, step: 1, event: 'done' } as const;
    const events = eventsFrom((to) => {
      to.add({ ...base, kind: 'limit', value: { limit: 'steps', used: 3, max: 3 } });
      to.add({ ...base, kind: 'context', value: { how: 'drop', dropped: 2, tokensBefore: 9, tokensAfter: 4 } });
      to.add({ ...base, kind: 'once', value: 1 });
      to.add({ ...base, kind: 'sleep', value: null });
    });
    expect(events).toMatchObject([
      { type: 'limit', limit: 'steps', used: 3, max: 3 },
      { type: 'context.compact', dropped: 2 },
    ]);
  });

  it('are narrowed by their type', () => {
    const narrow = (event: RunEvent) =>
      event.type === 'tool.end' && expectTypeOf(event.isError).toEqualTypeOf<boolean>();
    expect(narrow).toBeTypeOf('function');
  });
});
