import { type Meter, SpanKind, type Tracer } from '@opentelemetry/api';
import { defineAgent, defineSupervisor, defineTool, type Instrument, runAgent } from 'coxswain';
import { otel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const boom = (): never => {
  throw new Error('no telemetry today');
};
const tool = defineTool({ name: 't', description: 'T', input: z.object({}), access: 'read', execute: () => 'x' });
const worker = defineAgent({ name: 'worker', description: 'W', instructions: 'x', tools: [tool] });
const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [worker] });

async function run(instrument: Instrument) {
  const faults: unknown[] = [];
  const onObserverError = (error: unknown) => void faults.push(error);
  const turns = {
    lead: [callTools(toolCall('delegate_worker', { task: 'a' })), 'done'],
    worker: [callTools(toolCall('t', {})), 'ok'],
  };
  const result = await runAgent(lead, 'x', { model: scriptedModel(turns), instrument, onObserverError });
  return { result, faults };
}

/** A tracer of which one part throws, from the so-many-th span on. */
function tracer(part: string, from: number): Tracer {
  let spans = 0;
  const span = (own: object) =>
    new Proxy(own, {
      get: (_, name) => {
        if (name === 'spanContext' && part !== name)
          return () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 });
        return name === part ? boom : () => name === 'isRecording';
      },
    });
  const startSpan = () => {
    spans += 1;
    if (part === 'startSpan' && spans >= from) boom();
    return spans >= from ? span({ kind: SpanKind.INTERNAL }) : tracer('', 0).startSpan('x');
  };
  return { startSpan, startActiveSpan: boom } as unknown as Tracer;
}

describe('telemetry that throws', () => {
  it.each(
    [
      'startSpan',
      'spanContext',
      'setAttribute',
      'setAttributes',
      'setStatus',
      'addEvent',
      'isRecording',
      'end',
    ].flatMap((part) => [1, 3].map((from) => [part, from] as const)),
  )('costs no run: %s from span %i on', async (part, from) => {
    const { result, faults } = await run(otel({ tracer: tracer(part, from), content: 'full' }));
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    // What nothing of the run asks for cannot fail.
    expect(faults.length > 0).toBe(!['setStatus', 'addEvent'].includes(part));
  });

  it.each(['wants', 'notBefore', 'start'] as const)('costs no run: %s of an instrument', async (part) => {
    const instrument: Instrument = Object.assign(() => {}, { start: () => undefined, [part]: boom });
    const { result, faults } = await run(instrument);
    expect(result.status).toBe('completed');
    expect(faults.length).toBeGreaterThan(0);
  });

  it('costs no run: a meter', async () => {
    const none = { createCounter: boom, createHistogram: boom, createUpDownCounter: boom } as unknown as Meter;
    const made = { add: boom, record: boom };
    const deaf = { createCounter: () => made, createHistogram: () => made, createUpDownCounter: () => made };
    for (const meter of [none, deaf as unknown as Meter]) {
      const { result, faults } = await run(otel({ meter }));
      expect(result.status).toBe('completed');
      expect(faults.length).toBeGreaterThan(0);
    }
  });
});
