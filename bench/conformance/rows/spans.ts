import { came, type Row } from '../team.ts';

interface Span {
  readonly name: string;
  readonly attributes: { readonly [name: string]: unknown };
  readonly parentSpanContext?: { readonly spanId: string };
  spanContext(): { readonly spanId: string; readonly traceId: string };
}

export const spans: Row = {
  id: 'spans',
  title: 'Spans of a lead, a child and its tool, with a registered OpenTelemetry provider',
  good: 'one trace that nests as the tree does, by the GenAI conventions',
  async play(contender) {
    const { context, trace } = await import('@opentelemetry/api');
    const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
    const { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } = await import('@opentelemetry/sdk-trace');
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager());
    trace.setGlobalTracerProvider(provider);
    await contender.trace?.();
    const look = { name: 'look', execute: () => 'SEEN' };
    const ran = await came(
      contender.run({
        lead: { name: 'lead', workers: [{ name: 'worker', tools: [look] }] },
        task: 'Start',
        think: ({ agent, turn }) =>
          turn > 1 ? { text: 'done' } : { calls: [{ to: agent === 'lead' ? 'worker' : 'look', query: 'Go' }] },
      }),
    );
    await provider.forceFlush();
    const all = exporter.getFinishedSpans() as unknown as readonly Span[];
    if (ran.error !== undefined) return { ok: false, saw: `threw: ${ran.error}` };
    if (all.length === 0) return { ok: false, saw: 'none' };
    return judge(all);
  },
};

function judge(all: readonly Span[]): { ok: boolean; saw: string } {
  const traces = new Set(all.map((span) => span.spanContext().traceId));
  const byId = new Map(all.map((span) => [span.spanContext().spanId, span]));
  const above = (span: Span): readonly Span[] => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? '');
    return parent === undefined ? [] : [parent, ...above(parent)];
  };
  const genAi = all.filter(({ attributes }) => attributes['gen_ai.operation.name'] !== undefined);
  const of = (operation: string) => genAi.filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation);
  const agents = of('invoke_agent');
  const tool = of('execute_tool').find(({ attributes }) => attributes['gen_ai.tool.name'] === 'look');
  const count = `${all.length} spans`;
  if (genAi.length === 0) return { ok: false, saw: `${count}, none by the conventions` };
  if (traces.size > 1) return { ok: false, saw: `${count} in ${traces.size} traces` };
  if (tool === undefined) return { ok: false, saw: `${count}, none of the tool` };
  const inAgents = above(tool).filter((span) => agents.includes(span)).length;
  if (inAgents < 2) return { ok: false, saw: `${count}, the tool's lies in ${inAgents} of 2 agents` };
  return { ok: of('chat').length === 4, saw: `${count}, nested, ${of('chat').length} of 4 model calls` };
}
