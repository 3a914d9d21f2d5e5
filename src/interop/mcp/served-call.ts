import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Agent } from '../../core/contract/agent.ts';
import type { RunEvent } from '../../core/contract/event.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { RunOptions } from '../../orchestration/run/run-options.ts';
import type { Client } from '../http/client.ts';
import { PROGRESS, progressText } from '../run-progress.ts';
import { serveRun } from '../serve-run.ts';

type ProgressType = (typeof PROGRESS)[number];
export type Pending = ApprovalRequest | WaitRequest;

/** What the client and the server's code gave a call. */
export interface CallParts {
  readonly agent: Agent;
  readonly input: Json;
  readonly client: Client;
  readonly options: RunOptions;
  /** The request's `_meta`. */
  readonly carrier: { readonly [name: string]: unknown };
  /** Whether the client can ask a person. */
  readonly canAsk: boolean;
  readonly mayDecide: (client: Client, request: Pending) => boolean;
}

/** One run of an agent for a client, which may take several requests, since a person may be asked in between. */
export class ServedCall {
  readonly client: Client;
  readonly tool: string;
  readonly createdAt = new Date();
  updatedAt = this.createdAt;
  /** The number of requests that its client was asked to answer. */
  rounds = 0;
  readonly result: Promise<RunResult>;
  /** Undefined while it is active. */
  ended: RunResult | undefined;
  /** The error with which the run rejected: infrastructure failed. */
  failed: unknown;
  readonly #run: Run;
  readonly #parts: CallParts;
  readonly #abort = new AbortController();
  readonly #asksClient: boolean;
  #wake = Promise.withResolvers<void>();
  #spanId: string | undefined;

  constructor(parts: CallParts) {
    const { agent, input, client, options, carrier, canAsk } = parts;
    this.#parts = parts;
    this.client = client;
    this.tool = agent.name;
    // With `approve` in the options the client is not asked.
    this.#asksClient = canAsk && options.approve === undefined;
    const views = [
      ...(options.views ?? []),
      (record: { readonly kind: string; readonly spanId: string }) => {
        if (record.kind === 'run') this.#spanId ??= record.spanId;
      },
    ];
    const runOptions = { ...options, views, ...(canAsk && { onIdle: 'wait' as const }) };
    this.#run = serveRun(agent, input, runOptions, { signal: this.#abort.signal, carrier }) as Run;
    this.#run.on('approval.request', ({ request }) => this.#onRequest(request));
    this.#run.on('approval.decision', () => this.#changed());
    this.result = this.#run.result;
    this.result.then(
      (result) => {
        this.ended = result;
        this.#changed();
      },
      (thrown: unknown) => {
        this.failed = thrown ?? new Error('the run failed');
        this.#changed();
      },
    );
  }

  get id(): string {
    return this.#run.id;
  }

  get isOver(): boolean {
    return this.ended !== undefined || this.failed !== undefined;
  }

  /** Requests that a person at the client may answer now. */
  pending(): readonly Pending[] {
    if (this.isOver) return [];
    return this.#run.pending().filter((request) => this.#isForClient(request));
  }

  /** Resolves when it is over, when a request waits for a person at the client, or when the signal aborts. */
  async next(signal?: AbortSignal): Promise<void> {
    while (!this.isOver && this.pending().length === 0 && signal?.aborted !== true) {
      const woken = this.#wake.promise;
      await (signal === undefined ? woken : Promise.race([woken, once(signal)]));
      // Requests of one turn are asked together.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** Reports progress by names alone, until the returned function is called. */
  follow(onProgress: (text: string) => void): () => void {
    const listener = (event: RunEvent) => {
      const text = progressText(event);
      if (text !== undefined) onProgress(text);
    };
    for (const type of PROGRESS) this.#run.on<ProgressType>(type, listener);
    return () => {
      for (const type of PROGRESS) this.#run.off<ProgressType>(type, listener);
    };
  }

  /** Rejects with a ConfigurationError if the answer is invalid. */
  decide(id: string, decision: Decision): Promise<void> {
    return this.#run.decide(id, decision);
  }

  /** Ends it `aborted`; with a journal it can be resumed. */
  abort(): void {
    this.#abort.abort();
  }

  cancel(): void {
    this.#run.cancel(undefined, 'The client cancelled the task.').catch(() => {});
  }

  /** A result as the answer to a call. */
  answer(result: RunResult): CallToolResult {
    const meta = this.#meta(result);
    if (result.status !== 'completed')
      return { content: [{ type: 'text', text: failureText(result) }], isError: true, _meta: meta };
    const { output } = result;
    const content = [{ type: 'text' as const, text: result.text }];
    const structured = this.#parts.agent.output !== undefined && isPlainObject(output);
    return structured ? { content, structuredContent: output, _meta: meta } : { content, _meta: meta };
  }

  #meta({ runId, traceId, status, usage, costUsd }: RunResult): Record<string, unknown> {
    const span = this.#spanId;
    return {
      'coxswain/runId': runId,
      'coxswain/status': status,
      'coxswain/usage': usage,
      ...(costUsd !== undefined && { 'coxswain/costUsd': costUsd }),
      ...(span !== undefined && { traceparent: `00-${traceId}-${span}-01` }),
    };
  }

  #isForClient(request: Pending): boolean {
    const isOurs = request.reason === 'wait' ? this.#parts.canAsk : this.#asksClient;
    return isOurs && this.#parts.mayDecide(this.client, request);
  }

  /** Denies a request that this client may not decide, since it would wait for ever. */
  #onRequest(request: Pending): void {
    const isOurs = request.reason === 'wait' ? this.#parts.canAsk : this.#asksClient;
    if (isOurs && !this.#parts.mayDecide(this.client, request))
      this.#run.decide(request.id, { decision: 'deny', reason: 'this client may not decide it' }).catch(() => {});
    this.#changed();
  }

  #changed(): void {
    this.updatedAt = new Date();
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

function failureText(result: Exclude<RunResult, { readonly status: 'completed' }>): string {
  if (result.status === 'suspended') {
    const waits = result.pending.map((one) => (one.reason === 'wait' ? 'an answer' : `approval of ${one.tool}`));
    return `suspended: it waits for ${waits.join(', ')}, and this client cannot be asked. Run ${result.runId} goes on once that is decided; another call would start anew.`;
  }
  const had = result.text === '' ? '' : `\n${result.text}`;
  return `${result.status}: ${result.error.message}${had}`;
}

function once(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
