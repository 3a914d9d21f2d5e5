import type { UIMessageChunk } from 'ai';
import type { RunEvent } from '../../core/contract/event.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { ErrorRecord } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import type { Status } from '../../core/values/status.ts';
import type { Usage } from '../../core/values/usage.ts';
import { NodeText } from '../../orchestration/run/text-stream.ts';
import { progressText } from '../run-progress.ts';

/** The data parts of a run's message, by the names that `useChat` knows them under: `data-progress`, `data-approval`, `data-usage`. */
export type UiRunData = {
  /** Progress, by names alone. One part for each agent and call: a later one with the same `id` replaces it. */
  progress: { readonly path: string; readonly agent: string; readonly text: string };
  /** A request, by its `id`; `decision` once it is answered. */
  approval: { readonly request: ApprovalRequest | WaitRequest; readonly decision?: Decision['decision'] };
  /** Once, at the end. */
  usage: {
    readonly runId: string;
    readonly status: Status | 'failed';
    readonly usage: Usage;
    readonly costUsd?: number;
  };
};

export type UiRunChunk = UIMessageChunk<{ readonly runId: string }, UiRunData>;

/** How a run ended: the fields that its last event and its result share. */
export interface UiEnd {
  readonly status: Status | 'failed';
  readonly text: string;
  readonly error?: ErrorRecord | undefined;
  readonly usage: Usage;
  readonly costUsd?: number | undefined;
}

/** Turns the events of a run, in order, into the chunks of one assistant message. */
export class UiChunks {
  readonly #runId: string;
  readonly #path: string;
  readonly #calls: boolean;
  readonly #text: NodeText;
  readonly #requests = new Map<string, ApprovalRequest | WaitRequest>();
  #part: string | undefined;
  #hasText = false;
  #isInStep = false;
  #isOver = false;

  /** @param calls whether arguments and results of the root's calls are shown. */
  constructor(runId: string, path: string, calls: boolean) {
    this.#runId = runId;
    this.#path = path;
    this.#calls = calls;
    this.#text = new NodeText(path);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  begin(): UiRunChunk[] {
    return [{ type: 'start', messageId: this.#runId, messageMetadata: { runId: this.#runId } }];
  }

  after(event: RunEvent): UiRunChunk[] {
    const text = this.#text.after(event);
    return [...(text === '' ? [] : this.#textChunks(event.key, text)), ...this.#rest(event)];
  }

  #rest(event: RunEvent): UiRunChunk[] {
    const isRoot = event.path === this.#path;
    switch (event.type) {
      case 'step.start':
        return isRoot ? this.#step(true) : [];
      case 'step.end':
        return isRoot ? this.#step(false) : [];
      case 'tool.start':
        return [...this.#progress(event), ...(isRoot && this.#calls ? [callChunk(event)] : [])];
      case 'tool.end':
        return isRoot && this.#calls ? [outcomeChunk(event)] : [];
      case 'approval.request':
        this.#requests.set(event.request.id, event.request);
        return [...this.#progress(event), ...this.#approval(event.request.id)];
      case 'approval.decision':
        return this.#approval(event.id, event.decision.decision);
      case 'run.suspended':
        return this.end({ ...event, text: '' });
      case 'run.end':
        return this.end(event);
      case 'run.start':
      case 'run.diverged':
      case 'agent.start':
      case 'agent.end':
      case 'model.start':
      case 'model.delta':
      case 'model.retry':
      case 'model.end':
      case 'tool.progress':
      case 'gate.closed':
      case 'gate.opened':
      case 'context.compact':
      case 'limit':
        return this.#progress(event);
    }
  }

  /** The last chunks. A run that did not complete names its cause: an error, or an abort if it was stopped. */
  end({ status, text, error, usage, costUsd }: UiEnd): UiRunChunk[] {
    if (this.#isOver) return [];
    // A procedure streams no text, and a stream that starts late did not see the earlier text.
    const textChunks = this.#hasText || text === '' ? [] : this.#textChunks(`${this.#path}/@end`, text);
    const chunks: UiRunChunk[] = [...textChunks, ...this.#step(false)];
    const data = { runId: this.#runId, status, usage, ...(costUsd !== undefined && { costUsd }) };
    chunks.push({ type: 'data-usage', id: this.#runId, data });
    this.#isOver = true;
    switch (status) {
      case 'completed':
        return [...chunks, { type: 'finish', finishReason: 'stop' }];
      case 'suspended':
        return [...chunks, { type: 'finish', finishReason: 'other' }];
      case 'aborted':
      case 'cancelled':
        return [...chunks, { type: 'abort', reason: `${status}: ${error?.message ?? status}` }];
      case 'step_limit':
      case 'tool_limit':
      case 'token_limit':
      case 'cost_limit':
      case 'timeout':
      case 'context_limit':
      case 'loop_detected':
      case 'invalid_output':
      case 'model_error':
      case 'failed':
        chunks.push({ type: 'error', errorText: `${error?.kind ?? status}: ${error?.message ?? status}` });
        return [...chunks, { type: 'finish', finishReason: 'error' }];
    }
  }

  #step(starts: boolean): UiRunChunk[] {
    const chunks = this.#endPart();
    if (this.#isInStep) chunks.push({ type: 'finish-step' });
    if (starts) chunks.push({ type: 'start-step' });
    this.#isInStep = starts;
    return chunks;
  }

  #textChunks(key: string, text: string): UiRunChunk[] {
    this.#hasText = true;
    const chunks: UiRunChunk[] = this.#part === key ? [] : [...this.#endPart(), { type: 'text-start', id: key }];
    this.#part = key;
    return [...chunks, { type: 'text-delta', id: key, delta: text }];
  }

  #endPart(): UiRunChunk[] {
    const id = this.#part;
    this.#part = undefined;
    return id === undefined ? [] : [{ type: 'text-end', id }];
  }

  #progress(event: RunEvent): UiRunChunk[] {
    const text = progressText(event);
    if (text === undefined) return [];
    const { path, agent } = event;
    const id = event.type === 'tool.start' || event.type === 'approval.request' ? event.key : path;
    return [{ type: 'data-progress', id, data: { path, agent, text } }];
  }

  #approval(id: string, decision?: Decision['decision']): UiRunChunk[] {
    const request = this.#requests.get(id);
    if (request === undefined) return [];
    return [{ type: 'data-approval', id, data: decision === undefined ? { request } : { request, decision } }];
  }
}

/** By its address: providers give the same call id twice. */
function callChunk({ key, name, args }: { key: string; name: string; args?: Json }): UiRunChunk {
  return { type: 'tool-input-available', toolCallId: key, toolName: name, input: args ?? {}, dynamic: true };
}

function outcomeChunk(event: Extract<RunEvent, { type: 'tool.end' }>): UiRunChunk {
  const { key: toolCallId, isError, error, result } = event;
  if (isError) return { type: 'tool-output-error', toolCallId, errorText: error?.message ?? 'failed', dynamic: true };
  return { type: 'tool-output-available', toolCallId, output: result ?? null, dynamic: true };
}
