import type { Tracer } from '@opentelemetry/api';
import type { RecordOf } from '../core/events.ts';
import type { RunRecord, SpanHandle, SpanStart } from '../core/record.ts';
import { type Approval, approvalAttributes, approvalState } from './approval.ts';
import { endAgent, endEffect, endModel, endTool, fail, faultOf, type SpanContent } from './outcome.ts';
import { finishReason, outputText } from './parts.ts';
import { hrTime, OpenSpan, openSpan, startAttributes } from './span.ts';
import { spoken } from './spoken.ts';

/** The open spans of one run. */
export class RunSpans {
  readonly root: OpenSpan;
  readonly #tracer: Tracer;
  readonly #content: SpanContent;
  readonly #open = new Map<string, OpenSpan>();
  readonly #approvals = new Map<string, Approval>();
  /** True while a lone agent has not taken its run's span over. */
  #lone: boolean;

  constructor(tracer: Tracer, content: SpanContent, root: OpenSpan, lone: boolean) {
    this.#tracer = tracer;
    this.#content = content;
    this.root = root;
    this.#lone = lone;
    this.#describe(root);
  }

  start(begun: SpanStart, parent: SpanHandle | undefined): OpenSpan {
    const open =
      begun.kind === 'agent' && this.#lone
        ? this.#takeOver(begun)
        : openSpan(this.#tracer, begun, (parent instanceof OpenSpan ? parent : this.root).context);
    this.#open.set(idOf(begun), open);
    this.#describe(open);
    return open;
  }

  #takeOver(begun: SpanStart): OpenSpan {
    this.#lone = false;
    this.root.start = begun;
    return this.root;
  }

  #describe({ start, span }: OpenSpan): void {
    if (!span.isRecording()) return;
    span.setAttributes(startAttributes(start));
    const approval = this.#approvals.get(start.key);
    if (start.kind === 'tool' && approval !== undefined) {
      this.#approvals.delete(start.key);
      span.setAttributes(approvalAttributes(approval));
    }
    if (this.#content === 'full') span.setAttributes(spoken(start));
  }

  /** Any record of the run but its own. */
  take(record: Exclude<RunRecord, { kind: 'run' }>): void {
    if (record.kind === 'wait' || record.kind === 'decision') {
      this.#noteDecision(record);
      return;
    }
    if (record.event === 'started') return;
    const open = this.#open.get(idOf(record));
    if (open === undefined) {
      if (record.kind === 'tool') this.#noteRefusal(record);
      return;
    }
    if (record.event === 'retry') {
      const attributes = { 'coxswain.retry.attempt': record.attempt, 'error.type': record.value.kind };
      open.span.addEvent('coxswain.retry', attributes, hrTime(record.time));
      return;
    }
    this.#open.delete(idOf(record));
    if (open.span.isRecording()) this.#conclude(open, record);
    open.span.end(hrTime(record.time));
  }

  #conclude(open: OpenSpan, record: RunRecord): void {
    switch (record.kind) {
      case 'model': {
        endModel(open, record, this.#content);
        const agent = this.#agentOf(record);
        if (record.event === 'done' && agent !== undefined) agent.finishReason = finishReason(record.value.stop);
        return;
      }
      case 'tool':
        endTool(open, record, this.#content);
        return;
      case 'agent': {
        if (record.event !== 'done') return;
        endAgent(open, record.value, this.#content);
        if (open === this.root) open.span.setAttribute('coxswain.run.state', record.value.status);
        const call = this.#open.get(`tool ${record.key.slice(0, record.key.lastIndexOf('/'))}`);
        if (call !== undefined) call.workerFault = faultOf(record.value);
        return;
      }
      case 'memory':
      case 'embedding':
        endEffect(open, record, this.#content);
    }
  }

  /** The last record of the run: what is still open ends with it, so that a suspended run's trace is whole. */
  end(record: RecordOf<'run'>): void {
    if (record.event === 'started') return;
    for (const approval of this.#approvals.values()) {
      if (approval.state === 'pending')
        this.#open.get(`agent ${approval.path}`)?.span.setAttributes(approvalAttributes(approval));
    }
    const { status, text } = record.value;
    this.close(status, faultOf(record.value), record.time, this.#content === 'full' ? text : undefined);
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
    if (text !== undefined) root.span.setAttribute('gen_ai.output.messages', outputText(text, 'stop'));
    root.span.end(end);
  }

  #agentOf(record: RunRecord): OpenSpan | undefined {
    return this.#open.get(`agent ${record.place.path}`);
  }

  #noteDecision(record: RecordOf<'wait'> | RecordOf<'decision'>): void {
    if (record.event === 'cancel') return;
    const call = record.key.replace(/\/@(?:approval|doubt)$/, '');
    const { path } = record.place;
    const fresh: Approval = { id: record.key, path, since: record.time, state: 'pending', waitMs: 0 };
    const approval = (record.event === 'done' ? this.#approvals.get(call) : undefined) ?? fresh;
    if (record.event === 'done') {
      approval.state = approvalState(record.value.decision);
      approval.waitMs = Math.round(Number(record.time - approval.since) / 1e6);
    }
    // An allowed call shows it on its own span, once that starts.
    if (approval.state === 'pending' || approval.state === 'allowed') this.#approvals.set(call, approval);
    else this.#approvals.delete(call);
    const name = record.event === 'done' ? 'coxswain.approval.decision' : 'coxswain.approval.request';
    this.#agentOf(record)?.span.addEvent(name, approvalAttributes(approval), hrTime(record.time));
  }

  /** A call that never started has no span; its agent's says that it was asked for. */
  #noteRefusal(record: RecordOf<'tool'>): void {
    if (record.event !== 'failed') return;
    const { name, callId } = record.request;
    const attributes = {
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': callId,
      'error.type': record.value.error?.kind ?? 'denied',
    };
    this.#agentOf(record)?.span.addEvent('coxswain.tool.refused', attributes, hrTime(record.time));
  }
}

function idOf(record: { readonly kind: string; readonly key: string }): string {
  return `${record.kind} ${record.key}`;
}
