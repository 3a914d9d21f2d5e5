import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { defineAgent, defineSupervisor, redaction, runAgent } from 'coxswain';
import { otel, setupOtel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { attributesOf, receiver } from './receiver.ts';

const PROGRAM = fileURLToPath(new URL('setup-program.ts', import.meta.url));

async function collector() {
  const one = await receiver();
  onTestFinished(one.close);
  return one;
}

function program(how: string, endpoint: string) {
  const args = ['--conditions=@coxswain/source', PROGRAM];
  const child = spawn(process.execPath, args, { env: { ...process.env, OTLP: endpoint, HOW: how } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  return { child, ended: once(child, 'close') as Promise<[number | null, string | null]>, said: () => out };
}

describe('setupOtel in a process', () => {
  it('loses nothing of a burst before the process ends by itself', async () => {
    const { endpoint, spans } = await collector();
    const { ended } = program('burst', endpoint);
    expect(await ended).toEqual([0, null]);
    expect(spans()).toHaveLength(10_000);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('sends what is left before %s ends the process', async (signal) => {
    const { endpoint, spans } = await collector();
    const { child, ended } = program('signal', endpoint);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    expect(spans()).toHaveLength(1);
  });

  it('leaves the end to whoever else listens to the signal', async () => {
    const { endpoint, spans } = await collector();
    const { child, ended } = program('handled', endpoint);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await ended).toEqual([7, null]);
    expect(spans()).toHaveLength(1);
  });

  it('has sent a parked run before its result is there: the process may exit', async () => {
    const { endpoint, spans } = await collector();
    const { ended, said } = program('parked', endpoint);
    expect(await ended).toEqual([0, null]);
    expect(said()).toBe('suspended\n');
    expect(spans().map(({ name }) => name)).toEqual(['invoke_agent flow', 'invoke_workflow flow']);
  });

  it.each(['shutdown', 'measured'])(
    'gives up after five seconds where no collector answers, says so, and lets the process end: %s',
    async (how) => {
      const since = performance.now();
      const { ended, said } = program(how, 'http://127.0.0.1:9');
      expect(await ended).toEqual([0, null]);
      const { ms, told, left } = JSON.parse(said());
      expect(left).toEqual([]);
      expect(told).toMatch(/^the last spans could not be sent: /);
      expect(ms).toBeLessThan(5_500);
      expect(performance.now() - since).toBeLessThan(15_000);
    },
  );
});

describe('setupOtel', () => {
  it('makes a service of each agent, where that is asked for', async () => {
    const { endpoint, bodies } = await collector();
    const { shutdown } = await setupOtel({ serviceName: 'team', endpoint, servicePerAgent: true });
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.' });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker] });
    const model = scriptedModel({
      lead: [callTools(toolCall('delegate_worker', { task: 'x' })), 'all'],
      worker: ['ok'],
    });
    await runAgent(lead, 'go', { model, instrument: otel() });
    trace.getTracer('user').startSpan('own').end();
    await shutdown();
    const names = new Map<string, string[]>();
    for (const body of bodies) {
      for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
        const service = String(attributesOf(resource)['service.name']);
        const spans = scopeSpans.flatMap((scope: { spans: { name: string }[] }) => scope.spans);
        names.set(service, [...(names.get(service) ?? []), ...spans.map(({ name }: { name: string }) => name)]);
      }
    }
    expect(Object.fromEntries([...names].map(([service, spans]) => [service, spans.sort()]))).toEqual({
      team: ['invoke_workflow lead', 'own'],
      'team.lead': ['chat scripted', 'chat scripted', 'execute_tool delegate_worker', 'invoke_agent lead'],
      'team.worker': ['chat scripted', 'invoke_agent worker'],
    });
  });

  it('names the resource by the environment too, and samples as that says', async () => {
    const { endpoint, bodies, spans } = await collector();
    process.env.OTEL_RESOURCE_ATTRIBUTES = 'deployment.environment.name=test';
    process.env.OTEL_TRACES_SAMPLER = 'always_off';
    onTestFinished(() => {
      delete process.env.OTEL_RESOURCE_ATTRIBUTES;
      delete process.env.OTEL_TRACES_SAMPLER;
    });
    const off = await setupOtel({ serviceName: 'tests', endpoint });
    trace.getTracer('user').startSpan('unseen').end();
    await off.shutdown();
    delete process.env.OTEL_TRACES_SAMPLER;
    const on = await setupOtel({ serviceName: 'tests', endpoint });
    trace.getTracer('user').startSpan('seen').end();
    await on.shutdown();
    expect(spans().map(({ name }) => name)).toEqual(['seen']);
    expect(bodies[0]).toContain('deployment.environment.name');
  });

  it('takes every address of a collector and refuses what is none', async () => {
    for (const path of ['', '/', '/v1/traces', '//']) {
      const { endpoint, spans } = await collector();
      const { shutdown } = await setupOtel({ serviceName: 'tests', endpoint: `${endpoint}${path}` });
      trace.getTracer('user').startSpan('one').end();
      await shutdown();
      expect(spans()).toHaveLength(1);
    }
    await expect(setupOtel({ serviceName: 'x', endpoint: 'nowhere' })).rejects.toThrow(/setupOtel.endpoint/);
    await expect(setupOtel({ serviceName: 'x', metrics: 'yes' as never })).rejects.toThrow(/setupOtel.metrics/);
  });

  it('takes secrets out of all that a span of a user holds', async () => {
    const { endpoint, spans, bodies } = await collector();
    const secret = 'blue-otter-41';
    const setup = await setupOtel({
      serviceName: 'x',
      endpoint,
      redaction: redaction({ secrets: [secret] }),
    });
    const tracer = trace.getTracer('user');
    const before = tracer.startSpan('before');
    before.end();
    const link = { context: before.spanContext(), attributes: { said: secret } };
    const span = tracer.startSpan(`open ${secret}`, { attributes: { said: [secret] }, links: [link] });
    span.addEvent(`heard ${secret}`, { said: secret });
    span.recordException(new Error(secret));
    span.setStatus({ code: SpanStatusCode.ERROR, message: secret }).end();
    await setup.shutdown();
    expect(spans()).toHaveLength(2);
    expect(bodies.join()).toContain('[redacted]');
    expect(bodies.join()).not.toContain(secret);
  });
});
