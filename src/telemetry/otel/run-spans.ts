import { SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { RecordOf } from '../../core/contract/events-of-record.ts';
import type { SpanHandle, SpanStart } from '../../core/contract/instrument.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import type { ExitRedaction } from '../../security/redaction/exit-redaction.ts';
import { type Approval, approvalAttributes, approvalState } from './approval.ts';
import { addStartAttributes } from './initial-span.ts';
import { faultOf, outcome, type SpanContent } from './outcome.ts';
import { finishReason, outputMessages } from './parts.ts';
import { hrTime, OpenSpan, openSpan } from './span.ts';
import { spanEvent } from './span-event.ts';
import { setContent, startContent } from './start-content.ts';

/** How spans are made, and what is put on them. */
export interface SpanOptions {
  readonly content: SpanContent;
  /** Whether the proposed attributes of delegates are set. */
  readonly transfer: boolean;
  /** What is redacted in content. */
  readonly redaction: ExitRedaction;
  readonly tracerOf: (agent: string) => Tracer;
}

/** The open spans of one run. */
export class RunSpans {
  readonly root: OpenSpan;
  readonly #options: SpanOptions;
  readonly #open = new Map<string, OpenSpan>();
  readonly #approvals = new Map<string, Approval>();
  /** Steps whose window was compacted. */
  readonly #compacted = new Set<string>();
  /** True while a lone agent has not taken its run's span over. */
  #lone: boolean;

  constructor(options: SpanOptions, root: OpenSpan, lone: boolean) {
    this.#options = options;
    this.root = root;
    this.#lone = lone;
    this.#describe(root);
  }

  start(begun: SpanStart, parent: SpanHandle | undefined): OpenSpan {
    const open = begun.kind === 'agent' && this.#lone ? this.#takeOver(begun) : this.#openBelow(begun, parent);
    this.#open.set(idOf(begun), open);
    this.#describe(open);
    return open;
  }

  #openBelow(begun: SpanStart, parent: SpanHandle | undefined): OpenSpan {
    const above = parent instanceof OpenSpan ? parent : this.root;
    const { tracerOf, transfer } = this.#options;
    return openSpan(tracerOf(begun.node.agent), begun, above.context, transfer);
  }

  #takeOver(begun: SpanStart): OpenSpan {
    this.#lone = false;
    this.root.start = begun;
    this.root.span.setAttributes(addStartAttributes({}, begun, false));
    return this.root;
  }

  #describe({ start, span }: OpenSpan): void {
    if (start.kind === 'model') this.#options.redaction.note(start.request.tools);
    if (!span.isRecording()) return;
    const approval = this.#approvals.get(start.key);
    if (start.kind === 'tool' && approval !== undefined) {
      this.#approvals.delete(start.key);
      span.setAttributes(approvalAttributes(approval));
    }
    if (this.#options.content === 'full') setContent(span, startContent(start), this.#options.redaction);
    noteWait(span, start);
  }

  /** Every record except those of the run itself. */
  take(record: Exclude<RunRecord, { kind: 'run' }>): void {
    if (record.kind === 'wait' || record.kind === 'decision') this.#noteDecision(record);
    else if (record.event === 'started') this.#noteAttempt(record);
    else if (record.event === 'retry') this.#noteRetry(record);
    else if (!this.#end(record)) this.#addEvent(record);
  }

  /** False if no span of this record is open. */
  #end(record: Exclude<RunRecord, { kind: 'run' }>): boolean {
    const id = idOf(record);
    const open = this.#open.get(id);
    if (open === undefined) return false;
    this.#open.delete(id);
    if (open.span.isRecording()) this.#setOutcome(open, record);
    open.span.end(hrTime(record.time));
    return true;
  }

  #setOutcome(open: OpenSpan, record: RunRecord): void {
    switch (record.kind) {
      case 'agent':
      case 'model':
      case 'tool':
      case 'memory':
      case 'embedding':
        break;
      default:
        return;
    }
    const { span } = open;
    const { attributes, fault, content } = outcome(record, open);
    span.setAttributes(attributes);
    if (this.#options.content === 'full' && content !== undefined) setContent(span, content(), this.#options.redaction);
    if (fault !== undefined) fail(open, fault);
    if (record.kind === 'model') this.#noteTurn(open, record);
    if (record.kind === 'agent' && record.event === 'done') this.#noteOutcome(open, record);
  }

  #noteTurn({ span }: OpenSpan, record: RecordOf<'model'>): void {
    if (this.#compacted.size > 0 && this.#compacted.has(stepOf(record)) && !isSummary(record.key))
      span.setAttribute('gen_ai.conversation.compacted', true);
    const agent = this.#agentOf(record);
    if (record.event === 'done' && agent !== undefined) agent.finishReason = finishReason(record.value.stop);
  }

  /** Approvals without an answer; with `path`, those that this node waits for. */
  #waiting(path?: string): Approval[] {
    return [...this.#approvals.values()].filter(
      (approval) => approval.state === 'pending' && (path === undefined || approval.path === path),
    );
  }

  #noteOutcome(open: OpenSpan, record: Extract<RecordOf<'agent'>, { event: 'done' }>): void {
    const [waiting] = this.#waiting(record.node.path);
    if (waiting !== undefined) open.span.setAttributes(approvalAttributes(waiting));
    if (open === this.root) open.span.setAttribute('coxswain.run.state', record.value.status);
    const call = this.#open.get(`tool ${record.key.slice(0, record.key.lastIndexOf('/'))}`);
    if (call !== undefined) call.workerFault = faultOf(record.value);
  }

  #noteAttempt(record: RunRecord): void {
    if (record.waitedMs === undefined) return;
    const open = this.#open.get(idOf(record));
    if (open !== undefined && record.time > open.start.time) noteWait(open.span, record);
  }

  #noteRetry(record: Extract<RunRecord, { event: 'retry' }>): void {
    const attributes = { 'coxswain.retry.attempt': record.attempt, 'error.type': record.value.kind };
    this.#open.get(idOf(record))?.span.addEvent('coxswain.retry', attributes, hrTime(record.time));
  }

  /** Adds a record without a span as an event to the span of its agent or of the run. */
  #addEvent(record: RunRecord): void {
    if (record.kind === 'tool') this.#noteRefusal(record);
    if (record.kind === 'context') this.#compacted.add(stepOf(record));
    const agent = record.kind === 'child' ? this.#agentOf(record) : undefined;
    if (agent !== undefined) agent.isDetached = true;
    const event = spanEvent(record);
    if (event === undefined) return;
    const { span } = (event.on === 'agent' ? this.#agentOf(record) : undefined) ?? this.root;
    if (span.isRecording()) span.addEvent(event.name, event.attributes, hrTime(record.time));
  }

  /** The last record of the run: what is still open ends with it, so that a suspended run's trace is whole. */
  end(record: RecordOf<'run'>): void {
    if (record.event === 'started') return;
    const [waiting] = this.#waiting();
    if (waiting !== undefined && this.root.span.isRecording())
      this.root.span.setAttributes(approvalAttributes(waiting));
    const { status, text } = record.value;
    this.close(status, faultOf(record.value), record.time, text);
  }

  /** Ends every open span at one time, the run's own last. */
  close(state: string, fault: string | undefined, time: bigint, text?: string): void {
    const { root } = this;
    const end = hrTime(time);
    for (const open of this.#open.values()) {
      if (open === root) continue;
      if (fault !== undefined) fail(open, fault);
      open.span.end(end);
    }
    // A lone agent's span ended with the agent.
    if (!root.span.isRecording()) return;
    root.span.setAttribute('coxswain.run.state', state);
    if (fault !== undefined) fail(root, fault);
    if (text && this.#options.content === 'full')
      setContent(root.span, { 'gen_ai.output.messages': outputMessages(text, 'stop') }, this.#options.redaction);
    root.span.end(end);
  }

  #agentOf(record: RunRecord): OpenSpan | undefined {
    return this.#open.get(`agent ${record.node.path}`);
  }

  #noteDecision(record: RecordOf<'wait'> | RecordOf<'decision'>): void {
    if (record.event === 'cancel') return;
    const call = record.key.replace(/\/@(?:approval|doubt)$/, '');
    const letsCallRun = call !== record.key;
    const { path } = record.node;
    const fresh: Approval = { id: record.key, path, since: record.time, state: 'pending', waitMs: 0 };
    const approval = (record.event === 'done' ? this.#approvals.get(call) : undefined) ?? fresh;
    if (record.event === 'done') {
      approval.state = approvalState(record.value.decision);
      approval.waitMs = Math.round(Number(record.time - (record.since ?? approval.since)) / 1e6);
    }
    // An allowed call shows it on its own span, once that starts.
    if (approval.state === 'pending' || (approval.state === 'allowed' && letsCallRun))
      this.#approvals.set(call, approval);
    else this.#approvals.delete(call);
    const name = record.event === 'done' ? 'coxswain.approval.decision' : 'coxswain.approval.request';
    this.#agentOf(record)?.span.addEvent(name, approvalAttributes(approval), hrTime(record.time));
  }

  /** A call that never started has no span, so it becomes an event on its agent's span. A call that parked was not refused. */
  #noteRefusal(record: RecordOf<'tool'>): void {
    if (record.event !== 'failed') return;
    const { name, callId } = record.request;
    const fault = record.value.error?.kind ?? 'denied';
    if (fault === 'suspended') return;
    // A name that the model invented may contain content.
    const toolName = fault === 'unknown_tool' ? {} : { 'gen_ai.tool.name': name };
    const attributes = { ...toolName, 'gen_ai.tool.call.id': callId, 'error.type': fault };
    this.#agentOf(record)?.span.addEvent('coxswain.tool.refused', attributes, hrTime(record.time));
  }
}

/** Marks a span as failed. The description is the kind, since a message could hold content. */
function fail({ span }: OpenSpan, kind: string): void {
  span.setAttribute('error.type', kind);
  span.setStatus({ code: SpanStatusCode.ERROR, message: kind });
}

function noteWait(span: OpenSpan['span'], { waitedMs, time }: { readonly waitedMs?: number; readonly time: bigint }) {
  if (waitedMs !== undefined)
    span.addEvent('coxswain.queue.wait', { 'coxswain.queue.wait_ms': waitedMs }, hrTime(time));
}

function idOf(record: { readonly kind: string; readonly key: string }): string {
  return `${record.kind} ${record.key}`;
}

/** Whether a model call summarises the conversation; the request of such a call is not a compacted one. */
function isSummary(key: string): boolean {
  return key.slice(key.lastIndexOf('/')).startsWith('/@summary');
}

function stepOf(record: RunRecord): string {
  return `${record.node.path}/${record.step}`;
}
