import { type Context, context, isSpanContextValid, ProxyTracerProvider, type Tracer, trace } from '@opentelemetry/api';
import type { ErrorRecord } from '../core/errors.ts';
import type { RecordOf } from '../core/events.ts';
import type { Instrument, RunRecord, SpanHandle, SpanStart } from '../core/record.ts';
import { endAgent, endEffect, endModel, endTool, fail, faultOf, type SpanContent } from './outcome.ts';
import { finishReason, instructionsText, messagesText, outputText, valueText } from './parts.ts';
import { hrTime, OpenSpan, openSpan, startAttributes } from './span.ts';

export { type OtelSetup, type SetupOptions, setupOtel } from './setup.ts';

export interface OtelOptions {
  /** Default `none`. `full` puts prompts, answers, arguments and results on the spans, their secrets redacted. */
  readonly content?: SpanContent | undefined;
  /** Default: one of the registered provider. */
  readonly tracer?: Tracer | undefined;
}

/** An instrument that can also end what a run leaves open whose result rejects: such a run has no last record. */
export interface OtelInstrument extends Instrument {
  abandon(run: string, error: ErrorRecord, time: bigint): void;
}

/** An approval, from its request until the call it stands for starts. */
interface Approval {
  readonly id: string;
  readonly path: string;
  readonly since: bigint;
  state: 'pending' | 'allowed' | 'denied' | 'answered';
  waitMs: number;
}

interface RunSpans {
  readonly tracer: Tracer;
  /** What the run itself opened, or what stands for it. */
  readonly root: OpenSpan;
  /** True while a lone agent has not taken its run's span over. */
  lone: boolean;
  readonly open: Map<string, OpenSpan>;
  readonly approvals: Map<string, Approval>;
}

/**
 * OpenTelemetry spans of a run, by the GenAI semantic conventions: `invoke_workflow` (a team's run), `invoke_agent`,
 * `chat`, `execute_tool`, `embeddings` and memory operations. A lone agent's run is its `invoke_agent` span. Uses the registered provider; where
 * there is none it costs next to nothing. The run's span is a child of the caller's active one.
 *
 * @example startRun(agent, input, { instrument: otel() })
 */
export function otel(options: OtelOptions = {}): OtelInstrument {
  const content = options.content ?? 'none';
  const runs = new Map<string, RunSpans>();

  function start(begun: SpanStart, parent: SpanHandle | undefined): SpanHandle | undefined {
    if (begun.kind === 'run') return startRun(begun);
    if (runs.size === 0) return undefined;
    const spans = runs.get(begun.run);
    if (spans === undefined) return undefined;
    const id = spanId(begun);
    const open =
      begun.kind === 'agent' && spans.lone
        ? takeOver(spans, begun)
        : openSpan(spans.tracer, begun, (parent instanceof OpenSpan ? parent : spans.root).context);
    spans.open.set(id, open);
    if (open.span.isRecording()) describe(open, spans);
    return open;
  }

  function startRun(begun: SpanStart & { kind: 'run' }): SpanHandle | undefined {
    const tracer = options.tracer ?? registeredTracer();
    if (tracer === undefined) return undefined;
    const parent: Context = context.active();
    const root = openSpan(tracer, begun, parent);
    // A tracer that does nothing gives neither a trace to show nor one to pass on.
    if (!isSpanContextValid(root.span.spanContext())) return undefined;
    const spans = { tracer, root, lone: !begun.request.team, open: new Map(), approvals: new Map() };
    runs.set(begun.run, spans);
    if (root.span.isRecording()) describe(root, spans);
    return root;
  }

  function takeOver(spans: RunSpans, begun: SpanStart): OpenSpan {
    spans.lone = false;
    spans.root.start = begun;
    return spans.root;
  }

  function describe(open: OpenSpan, spans: RunSpans): void {
    const { start, span } = open;
    span.setAttributes(startAttributes(start));
    const approval = spans.approvals.get(start.key);
    if (start.kind === 'tool' && approval !== undefined) {
      spans.approvals.delete(start.key);
      span.setAttributes(approvalAttributes(approval));
    }
    if (content === 'full') span.setAttributes(spoken(start));
  }

  function view(record: RunRecord): void {
    if (runs.size === 0) return;
    const spans = runs.get(record.run);
    if (spans === undefined) return;
    if (record.kind === 'run') {
      if (record.event !== 'started') endRun(spans, record);
      return;
    }
    if (record.kind === 'wait' || record.kind === 'decision') {
      noteDecision(spans, record);
      return;
    }
    if (record.event !== 'started') settle(spans, record);
  }

  function settle(spans: RunSpans, record: RunRecord): void {
    const open = spans.open.get(spanId(record));
    if (open === undefined) {
      if (record.kind === 'tool') noteRefusal(spans, record);
      return;
    }
    if (record.event === 'retry') {
      const attributes = { 'coxswain.retry.attempt': record.attempt, 'error.type': record.value.kind };
      open.span.addEvent('coxswain.retry', attributes, hrTime(record.time));
      return;
    }
    spans.open.delete(spanId(record));
    if (open.span.isRecording()) conclude(spans, open, record);
    open.span.end(hrTime(record.time));
  }

  function conclude(spans: RunSpans, open: OpenSpan, record: RunRecord): void {
    switch (record.kind) {
      case 'model': {
        endModel(open, record, content);
        const agent = agentOf(spans, record);
        if (record.event === 'done' && agent !== undefined) agent.finishReason = finishReason(record.value.stop);
        return;
      }
      case 'tool':
        endTool(open, record, content);
        return;
      case 'agent': {
        if (record.event !== 'done') return;
        endAgent(open, record.value, content);
        if (open === spans.root) open.span.setAttribute('coxswain.run.state', record.value.status);
        const call = spans.open.get(`tool ${record.key.slice(0, record.key.lastIndexOf('/'))}`);
        if (call !== undefined) call.workerFault = faultOf(record.value);
        return;
      }
      case 'memory':
      case 'embedding':
        endEffect(open, record, content);
    }
  }

  /** The last record of a run: what is still open ends with it, so that a suspended run's trace is whole. */
  function endRun(spans: RunSpans, record: RecordOf<'run'> & { event: 'done' | 'suspended' }): void {
    runs.delete(record.run);
    const { value } = record;
    const { root } = spans;
    for (const approval of spans.approvals.values()) {
      if (approval.state === 'pending')
        spans.open.get(`agent ${approval.path}`)?.span.setAttributes(approvalAttributes(approval));
    }
    const fault = faultOf(value);
    closeAll(spans, fault, record.time, () => {
      root.span.setAttribute('coxswain.run.state', value.status);
      if (fault !== undefined) fail(root, fault);
      if (content === 'full') root.span.setAttribute('gen_ai.output.messages', outputText(value.text, 'stop'));
    });
  }

  function abandon(run: string, error: ErrorRecord, time: bigint): void {
    const spans = runs.get(run);
    if (spans === undefined) return;
    runs.delete(run);
    closeAll(spans, error.kind, time, () => {
      spans.root.span.setAttribute('coxswain.run.state', 'failed');
      fail(spans.root, error.kind);
    });
  }

  return Object.assign(view, { start, abandon });
}

/** Ends every open span at one time, the run's own last. */
function closeAll(spans: RunSpans, fault: string | undefined, time: bigint, root: () => void): void {
  const end = hrTime(time);
  for (const open of spans.open.values()) {
    if (open === spans.root) continue;
    if (fault !== undefined) fail(open, fault);
    open.span.end(end);
  }
  // A lone agent's span ended with the agent.
  if (!spans.root.span.isRecording()) return;
  root();
  spans.root.span.end(end);
}

/** Asked once a run, so that without a provider nothing else is done. */
function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('coxswain')
    : provider.getTracer('coxswain');
}

function spanId(record: { readonly kind: string; readonly key: string }): string {
  return `${record.kind} ${record.key}`;
}

function agentOf(spans: RunSpans, record: RunRecord): OpenSpan | undefined {
  return spans.open.get(`agent ${record.place.path}`);
}

function noteDecision(spans: RunSpans, record: RecordOf<'wait'> | RecordOf<'decision'>): void {
  const call = record.key.replace(/\/@(?:approval|doubt)$/, '');
  const agent = agentOf(spans, record)?.span;
  const event = (name: string, approval: Approval) =>
    agent?.addEvent(name, approvalAttributes(approval), hrTime(record.time));
  if (record.kind === 'wait' && record.event === 'started') {
    const approval: Approval = {
      id: record.key,
      path: record.place.path,
      since: record.time,
      state: 'pending',
      waitMs: 0,
    };
    spans.approvals.set(call, approval);
    event('coxswain.approval.request', approval);
    return;
  }
  if (record.event === 'cancel') return;
  const asked = spans.approvals.get(call);
  const { path } = record.place;
  const approval = asked ?? { id: record.key, path, since: record.time, state: 'pending' as const, waitMs: 0 };
  approval.state = stateOf(record.value.decision);
  approval.waitMs = Math.round(Number(record.time - approval.since) / 1e6);
  event('coxswain.approval.decision', approval);
  if (approval.state !== 'allowed') spans.approvals.delete(call);
}

function stateOf(decision: string): Approval['state'] {
  if (decision === 'allow' || decision === 'retry') return 'allowed';
  return decision === 'deny' || decision === 'failed' ? 'denied' : 'answered';
}

function approvalAttributes({ id, state, waitMs }: Approval): Record<string, string | number> {
  return {
    'coxswain.approval.id': id,
    'coxswain.approval.state': state,
    ...(state === 'pending' ? {} : { 'coxswain.approval.wait_ms': waitMs }),
  };
}

/** A call that never started has no span; its agent's says that it was asked for. */
function noteRefusal(spans: RunSpans, record: RecordOf<'tool'>): void {
  if (record.event !== 'failed') return;
  const { name, callId } = record.request;
  const attributes = {
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': callId,
    'error.type': record.value.error?.kind ?? 'denied',
  };
  agentOf(spans, record)?.span.addEvent('coxswain.tool.refused', attributes, hrTime(record.time));
}

/** What was said, for `content: 'full'`. */
function spoken(start: SpanStart): Record<string, string> {
  switch (start.kind) {
    case 'run':
      return { 'gen_ai.input.messages': messagesText(start.request.input) };
    case 'agent':
      return { 'gen_ai.input.messages': messagesText(start.request.brief) };
    case 'model': {
      const { instructions, messages, tools } = start.request;
      return {
        ...(instructions === '' ? {} : { 'gen_ai.system_instructions': instructionsText(instructions) }),
        'gen_ai.input.messages': messagesText(messages),
        // Descriptions and parameters are large; the conventions leave them out by default.
        'gen_ai.tool.definitions': JSON.stringify(tools.map(({ name }) => ({ type: 'function', name }))),
      };
    }
    case 'tool':
      return { 'gen_ai.tool.call.arguments': valueText(start.request.args) };
    case 'memory': {
      const { query } = start.request;
      return typeof query === 'string' ? { 'gen_ai.memory.query.text': valueText(query) } : {};
    }
    case 'embedding':
      return {};
  }
}
