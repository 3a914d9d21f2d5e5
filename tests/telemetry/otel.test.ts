import { context, trace } from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type OtelSetup, otel, setupOtel } from '../../src/telemetry/otel/otel.ts';
import { faultsOf } from './conventions.ts';
import { attributesOf, receiver, type WireSpan } from './receiver.ts';
import { node, recorder, spanOf } from './recorder.ts';
import { agentOut, CANARY, calls, modelIn, toolIn, toolOut, usage, user, writeTeam } from './team.ts';

let collector: Awaited<ReturnType<typeof receiver>>;
let setup: OtelSetup;

beforeAll(async () => {
  collector = await receiver();
  setup = await setupOtel({ serviceName: 'tests', endpoint: collector.endpoint });
});
afterEach(() => {
  collector.bodies.length = 0;
});
afterAll(async () => {
  await setup.shutdown();
  collector.close();
});

/** Writes records with an instrument and gives what the collector got. */
async function spansOf(
  write: (to: ReturnType<typeof recorder>) => void,
  options: Parameters<typeof otel>[0] = {},
): Promise<WireSpan[]> {
  write(recorder({ instrument: otel(options) }));
  await flush();
  return collector.spans();
}

async function flush(): Promise<void> {
  const provider = trace.getTracerProvider() as unknown as { getDelegate(): { forceFlush(): Promise<void> } };
  await provider.getDelegate().forceFlush();
}

function find(spans: WireSpan[], name: string, path?: string): WireSpan {
  const found = spans.find(
    (span) => span.name === name && (path === undefined || attributesOf(span)['coxswain.path'] === path),
  );
  if (found === undefined) throw new Error(`no ${name} in ${spans.map((span) => span.name).join(', ')}`);
  return found;
}

const here = node('lead', 'lead');
const brief = [user('x')];
const agentIn = { agent: 'lead', description: 'Leads', type: 'model', brief, model: 'openai/gpt-5', depth: 1 } as const;

/** A run of one agent with what `within` writes. */
function lone(
  to: ReturnType<typeof recorder>,
  within: () => void,
  end: Parameters<typeof to.add>[0] | undefined,
): void {
  to.add({
    kind: 'run',
    event: 'started',
    key: 'lead',
    node: here,
    step: 0,
    request: { agent: 'lead', team: false, input: brief },
  });
  to.add(
    { kind: 'agent', event: 'started', key: 'lead', node: here, step: 0, request: agentIn },
    spanOf('run', 'lead'),
  );
  within();
  if (end !== undefined) to.add(end, spanOf('run', 'lead'));
}
const agentDone = { kind: 'agent', event: 'done', key: 'lead', node: here, step: 1, value: agentOut() } as const;
const runDone = { kind: 'run', event: 'done', key: 'lead', node: here, step: 1, value: agentOut() } as const;

describe('spans', () => {
  it('are each one kind of the conventions, for a team with and without content', async () => {
    for (const content of ['none', 'full'] as const) {
      const spans = await spansOf(writeTeam, { content });
      expect(spans.map((span) => span.name).sort()).toEqual([
        'chat gpt-5',
        'chat gpt-5',
        'chat gpt-5',
        'execute_tool delegate_researcher',
        'execute_tool search',
        'invoke_agent lead',
        'invoke_agent researcher',
        'invoke_workflow lead',
      ]);
      expect(spans.flatMap(faultsOf)).toEqual([]);
      collector.bodies.length = 0;
    }
  });

  it('make one tree, each inside its parent, with the ids and the exact times of the records', async () => {
    const to = recorder({ instrument: otel() });
    writeTeam(to);
    await flush();
    const spans = collector.spans();
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    expect(new Set(spans.map((span) => span.traceId)).size).toBe(1);
    expect(spans.filter((span) => span.parentSpanId === undefined).map((span) => span.name)).toEqual([
      'invoke_workflow lead',
    ]);
    for (const span of spans) {
      const parent = span.parentSpanId === undefined ? undefined : byId.get(span.parentSpanId);
      if (parent === undefined) continue;
      expect(BigInt(parent.startTimeUnixNano) < BigInt(span.startTimeUnixNano)).toBe(true);
      expect(BigInt(parent.endTimeUnixNano) > BigInt(span.endTimeUnixNano)).toBe(true);
    }
    for (const record of to.records.filter(
      ({ kind, event, attempt }) => attempt === 1 && kind !== 'step' && kind !== 'wait' && event === 'started',
    )) {
      expect(byId.get(record.spanId)?.startTimeUnixNano).toBe(String(record.time));
      expect(byId.get(record.spanId)?.parentSpanId).toBe(record.parentSpanId);
    }
    expect(find(spans, 'invoke_agent researcher').parentSpanId).toBe(
      find(spans, 'execute_tool delegate_researcher').spanId,
    );
  });

  it('say where in the run they stand, and what a call used', async () => {
    const spans = await spansOf(writeTeam);
    expect(attributesOf(find(spans, 'chat gpt-5', 'lead'))).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5',
      'server.address': '127.0.0.1',
      'server.port': 8080,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.max_tokens': 4096,
      'gen_ai.response.id': 'resp_1',
      'gen_ai.response.model': 'gpt-5-2026',
      'gen_ai.response.finish_reasons': ['tool_call'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.usage.cache_read.input_tokens': 6,
      'coxswain.run.id': 'run-1',
      'coxswain.step': 1,
      'coxswain.retry.attempt': 2,
    });
    expect(attributesOf(find(spans, 'chat gpt-5', 'lead/1.0/researcher'))).toMatchObject({
      'coxswain.parent_step': 1,
      'coxswain.parent_step.path': 'lead',
      'coxswain.parent_step.tool_call_id': 'call_a',
    });
    expect(attributesOf(find(spans, 'invoke_workflow lead'))).toMatchObject({
      'coxswain.run.state': 'completed',
      'coxswain.run.attempt': 1,
    });
    expect(attributesOf(find(spans, 'invoke_agent lead'))).toMatchObject({
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.agent.description': 'Leads',
    });
  });

  it('cover the retries of a call, which are events of its one span', async () => {
    const chat = find(await spansOf(writeTeam), 'chat gpt-5', 'lead');
    expect(chat.status.code ?? 0).toBe(0);
    expect(chat.events?.map((event) => [event.name, attributesOf(event)])).toEqual([
      ['coxswain.retry', { 'coxswain.retry.attempt': 1, 'error.type': 'rate_limit' }],
    ]);
  });

  it('fail with the kind of the error, the delegate call of a failed worker too', async () => {
    const spans = await spansOf(writeTeam);
    for (const [name, kind] of [
      ['execute_tool search', 'threw'],
      ['invoke_agent researcher', 'model_error'],
      ['execute_tool delegate_researcher', 'model_error'],
    ] as const) {
      expect(find(spans, name).status).toEqual({ code: 2, message: kind });
      expect(attributesOf(find(spans, name))['error.type']).toBe(kind);
    }
  });

  it('show an approval on the agent while it waits and on the call it let run', async () => {
    const spans = await spansOf(writeTeam);
    const id = 'lead/1.0/researcher/1.0/@approval';
    expect(attributesOf(find(spans, 'execute_tool search'))).toMatchObject({
      'coxswain.approval.id': id,
      'coxswain.approval.state': 'allowed',
    });
    expect(
      find(spans, 'invoke_agent researcher').events?.map((event) => [
        event.name,
        attributesOf(event)['coxswain.approval.state'],
      ]),
    ).toEqual([
      ['coxswain.approval.request', 'pending'],
      ['coxswain.approval.decision', 'allowed'],
    ]);
  });

  it('carry nothing that was said unless asked to', async () => {
    await spansOf(writeTeam);
    expect(collector.bodies.join()).not.toContain(CANARY);
    collector.bodies.length = 0;
    await spansOf(writeTeam, { content: 'full' });
    expect(collector.bodies.join()).toContain(CANARY);
  });

  it('carry messages in the shape of the conventions, as JSON, without secrets', async () => {
    const secret = 'sk-proj-abcdefghijklmnop1234';
    const spans = await spansOf(
      (to) =>
        lone(
          to,
          () => {
            const messages = [
              user('q'),
              { role: 'assistant', content: [calls('c', 'search')] } as const,
              { role: 'tool', callId: 'c', name: 'search', content: `key ${secret}`, isError: false } as const,
            ];
            const model = { kind: 'model', key: 'lead/1/model', node: here, step: 1 } as const;
            to.add({ ...model, event: 'started', request: modelIn(messages) }, spanOf('agent', 'lead'));
            to.add({ ...model, event: 'done', value: { content: [{ type: 'text', text: 'a' }], stop: 'end' } });
          },
          agentDone,
        ),
      { content: 'full' },
    );
    const attributes = attributesOf(find(spans, 'chat gpt-5'));
    const json = (name: string) => JSON.parse(String(attributes[name]));
    expect(json('gen_ai.system_instructions')).toEqual([{ type: 'text', content: `Be brief ${CANARY}` }]);
    expect(json('gen_ai.input.messages')).toEqual([
      { role: 'user', parts: [{ type: 'text', content: `q ${CANARY}` }] },
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'c', name: 'search', arguments: `{"query":"${CANARY}"}` }],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'key [redacted]' }] },
    ]);
    expect(json('gen_ai.output.messages')).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'a' }], finish_reason: 'stop' },
    ]);
    expect(json('gen_ai.tool.definitions')).toEqual([{ type: 'function', name: 'search' }]);
  });

  it('have no workflow for a lone agent: its run is its own span', async () => {
    const to = recorder({ instrument: otel() });
    lone(to, () => {}, agentDone);
    to.add(runDone);
    await flush();
    const spans = collector.spans();
    expect(spans.map((span) => span.name)).toEqual(['invoke_agent lead']);
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(to.records[0]).toMatchObject({ traceId: spans[0]?.traceId });
    expect(attributesOf(spans[0] as WireSpan)).toMatchObject({
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'coxswain.run.state': 'completed',
    });
  });

  it('end with the run, also what a suspended run leaves open', async () => {
    const spans = await spansOf((to) =>
      lone(
        to,
        () => {
          const request = {
            id: 'lead/1.0/@approval',
            runId: 'run-1',
            path: 'lead',
            agent: 'lead',
            reason: 'wait',
            request: null,
          } as const;
          to.add(
            { kind: 'wait', event: 'started', key: 'lead/1.0/@approval', node: here, step: 1, request },
            spanOf('agent', 'lead'),
          );
        },
        {
          kind: 'run',
          event: 'suspended',
          key: 'lead',
          node: here,
          step: 1,
          value: agentOut({ status: 'suspended' }),
        },
      ),
    );
    expect(attributesOf(find(spans, 'invoke_agent lead'))).toMatchObject({
      'coxswain.run.state': 'suspended',
      'coxswain.approval.state': 'pending',
    });
    expect(find(spans, 'invoke_agent lead').status.code ?? 0).toBe(0);
  });

  it('end as failed where the run is abandoned without a last record', async () => {
    const instrument = otel();
    const to = recorder({ instrument });
    lone(
      to,
      () => {
        to.add(
          { kind: 'model', event: 'started', key: 'lead/1/model', node: here, step: 1, request: modelIn(brief) },
          spanOf('agent', 'lead'),
        );
      },
      undefined,
    );
    instrument.abandon('run-1', { kind: 'journal', message: CANARY, retryable: false }, 1_900_000_000_000_000_000n);
    await flush();
    expect(collector.spans().map((span) => [span.name, span.status])).toEqual([
      ['chat gpt-5', { code: 2, message: 'journal' }],
      ['invoke_agent lead', { code: 2, message: 'journal' }],
    ]);
  });

  it('name memory operations and embeddings as the conventions do', async () => {
    const spans = await spansOf((to) =>
      lone(
        to,
        () => {
          const agent = spanOf('agent', 'lead');
          const memory = { kind: 'memory', key: 'lead/1.0/search', node: here, step: 1 } as const;
          to.add(
            { ...memory, event: 'started', request: { operation: 'search', store: 'notes', query: CANARY } },
            agent,
          );
          to.add({ ...memory, event: 'done', value: [{ id: 'a', text: CANARY }] });
          const embedding = { kind: 'embedding', key: 'lead/1.0/embed', node: here, step: 1 } as const;
          to.add(
            { ...embedding, event: 'started', request: { model: 'openai/text-embedding-3-small', dimensions: 8 } },
            agent,
          );
          to.add({ ...embedding, event: 'failed', value: { kind: 'network', message: CANARY, retryable: true } });
        },
        agentDone,
      ),
    );
    expect(spans.map((span) => span.name)).toEqual([
      'search_memory',
      'embeddings text-embedding-3-small',
      'invoke_agent lead',
    ]);
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(attributesOf(find(spans, 'search_memory'))).toMatchObject({
      'gen_ai.memory.record.count': 1,
      'gen_ai.memory.store.id': 'notes',
    });
    expect(collector.bodies.join()).not.toContain(CANARY);
  });

  it('leave a refused call to an event of its agent, without the name of a tool that the model made up', async () => {
    const refuse = (to: ReturnType<typeof recorder>, kind: 'denied' | 'unknown_tool', name: string) =>
      to.add({
        kind: 'tool',
        event: 'failed',
        key: 'lead/1.0',
        node: here,
        step: 1,
        ran: false,
        request: { ...toolIn(), name },
        value: toolOut({ isError: true, error: { kind, message: CANARY, retryable: false } }),
      });
    const spans = await spansOf((to) =>
      lone(
        to,
        () => {
          refuse(to, 'denied', 'search');
          refuse(to, 'unknown_tool', CANARY);
        },
        agentDone,
      ),
    );
    expect(spans).toHaveLength(1);
    expect(find(spans, 'invoke_agent lead').events?.map((event) => attributesOf(event))).toEqual([
      { 'gen_ai.tool.name': 'search', 'gen_ai.tool.call.id': 'call_a', 'error.type': 'denied' },
      { 'gen_ai.tool.call.id': 'call_a', 'error.type': 'unknown_tool' },
    ]);
  });

  it('tell what became of a transcript that grew too long, and why nothing did, without what was said', async () => {
    const spans = await spansOf((to) =>
      lone(
        to,
        () => {
          const at = { kind: 'context', event: 'done', node: here, step: 1 } as const;
          const tokens = { tokensBefore: 900, tokensAfter: 400 };
          to.add({ ...at, key: 'lead/1/@window', value: { how: 'summarize', dropped: 5, ...tokens, cut: 6 } });
          const error = { kind: 'threw', message: CANARY, retryable: false };
          to.add({ ...at, key: 'lead/1/@window.2', value: { how: 'custom', dropped: 0, ...tokens, error } });
        },
        agentDone,
      ),
    );
    expect(find(spans, 'invoke_agent lead').events?.map((event) => attributesOf(event))).toEqual([
      {
        'coxswain.context.how': 'summarize',
        'coxswain.context.dropped': 5,
        'coxswain.context.tokens_before': 900,
        'coxswain.context.tokens_after': 400,
      },
      expect.objectContaining({ 'coxswain.context.how': 'custom', 'error.type': 'threw' }),
    ]);
    expect(collector.bodies.join()).not.toContain(CANARY);
  });

  it("hang below the caller's span, and users' spans below the call they are made in", async () => {
    const tracer = trace.getTracer('user');
    const to = recorder({ instrument: otel() });
    tracer.startActiveSpan('request', (request) => {
      lone(
        to,
        () => {
          to.add(
            { kind: 'tool', event: 'started', key: 'lead/1.0', node: here, step: 1, request: toolIn() },
            spanOf('agent', 'lead'),
          );
          to.handleOf(spanOf('tool', 'lead/1.0'))?.run(() => tracer.startSpan('query').end());
          expect(trace.getSpan(context.active())).toBe(request);
          to.add({
            kind: 'tool',
            event: 'done',
            key: 'lead/1.0',
            node: here,
            step: 1,
            ran: true,
            request: toolIn(),
            value: toolOut(),
          });
        },
        agentDone,
      );
      request.end();
    });
    await flush();
    const spans = collector.spans();
    expect(find(spans, 'invoke_agent lead').parentSpanId).toBe(find(spans, 'request').spanId);
    expect(find(spans, 'query').parentSpanId).toBe(find(spans, 'execute_tool search').spanId);
  });
});

describe('setupOtel', () => {
  it('sets up anew after a shutdown', async () => {
    await setup.shutdown();
    const unseen = recorder({ instrument: otel() });
    writeTeam(unseen);
    expect(unseen.handleOf(spanOf('run', 'lead'))).toBeUndefined();
    setup = await setupOtel({ serviceName: 'tests', endpoint: collector.endpoint });
    expect((await spansOf(writeTeam)).length).toBe(8);
  });

  it('refuses a second provider and an endpoint that is no URL', async () => {
    await expect(setupOtel({ serviceName: 'again' })).rejects.toThrow(/registered already/);
    await expect(setupOtel({ serviceName: 'again', endpoint: 'nowhere' })).rejects.toThrow(/setupOtel.endpoint/);
  });

  it('names the service and drops nothing of a burst', async () => {
    const tracer = trace.getTracer('burst');
    for (let count = 0; count < 10_000; count += 1) tracer.startSpan('one').end();
    await flush();
    expect(collector.spans()).toHaveLength(10_000);
    expect(collector.bodies[0]).toContain('{"key":"service.name","value":{"stringValue":"tests"}}');
  });
});
