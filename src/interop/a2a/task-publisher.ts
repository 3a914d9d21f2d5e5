import type { Artifact, Message, Part, Task, TaskState } from '@a2a-js/sdk';
import type { ExecutionEventBus } from '@a2a-js/sdk/server';
import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import type { RunResult } from '../../core/contract/result.ts';
import type { Json } from '../../core/values/json.ts';
import { requestView } from '../http/run-view.ts';
import type { ServerSdk } from './sdk.ts';

/** Publishes the events of a task: states, pieces of text, and the answer with its usage. */
export class TaskPublisher {
  readonly #sdk: ServerSdk;
  readonly #bus: ExecutionEventBus;
  readonly #ids: { readonly taskId: string; readonly contextId: string };
  #pieces = '';
  #isNew = true;
  #flushed = 0;

  constructor(sdk: ServerSdk, bus: ExecutionEventBus, ids: { readonly taskId: string; readonly contextId: string }) {
    this.#sdk = sdk;
    this.#bus = bus;
    this.#ids = ids;
  }

  /** The first event of every request: the task, now working. */
  begin(task: Task | undefined, message: Message): void {
    const { taskId, contextId } = this.#ids;
    const state = this.#sdk.core.TaskState.TASK_STATE_WORKING;
    const status = { state, message: undefined, timestamp: now() };
    const fresh = { id: taskId, contextId, artifacts: [], history: [message], metadata: {} };
    this.#bus.publish(this.#sdk.AgentEvent.task({ ...(task ?? fresh), status }));
  }

  /** Publishes a line of progress. */
  working(text: string): void {
    this.flush();
    this.#publishStatus(this.#sdk.core.TaskState.TASK_STATE_WORKING, [textPart(text)]);
  }

  /** The text starts again: another turn, or another attempt. */
  restart(): void {
    this.#pieces = '';
    this.#isNew = true;
  }

  /** A piece of the answer. Small pieces are sent together, since the store merges each into the task. */
  piece(text: string): void {
    this.#pieces += text;
    if (performance.now() - this.#flushed > FLUSH_MS) this.flush();
  }

  flush(): void {
    if (this.#pieces === '') return;
    this.#publishArtifact([textPart(this.#pieces)], { append: !this.#isNew, lastChunk: false });
    this.#isNew = false;
    this.#pieces = '';
    this.#flushed = performance.now();
  }

  /** The task waits for answers, which the next message of this task must have. */
  inputRequired(
    pending: readonly (ApprovalRequest | WaitRequest)[],
    mayDecide: (request: ApprovalRequest | WaitRequest) => boolean,
    problem?: string,
  ): void {
    this.flush();
    const requests = pending.map((one) =>
      one.reason === 'wait'
        ? `${one.agent} waits for an answer`
        : `${one.agent} asks to call ${one.tool} (${one.access})`,
    );
    const how =
      'Answer with a data part { id, decision: "allow" | "deny" | "answer" }; one approval alone also with yes or no.';
    const text = [...(problem === undefined ? [] : [`Not taken: ${problem}.`]), ...requests, how].join('\n');
    this.#publishStatus(this.#sdk.core.TaskState.TASK_STATE_INPUT_REQUIRED, [
      textPart(text),
      dataPart({ requests: pending.map((one) => requestView(one, mayDecide(one))) as unknown as Json }),
    ]);
  }

  /** How the run ended. */
  finish(result: RunResult): void {
    const { TaskState } = this.#sdk.core;
    const metadata = metadataOf(result);
    this.#pieces = '';
    switch (result.status) {
      case 'completed': {
        const data = typeof result.output === 'string' ? [] : [dataPart(result.output as Json)];
        this.#publishArtifact([...data, textPart(result.text)], { append: false, lastChunk: true }, metadata);
        this.#publishStatus(TaskState.TASK_STATE_COMPLETED, undefined, metadata);
        return;
      }
      case 'suspended':
        return;
      case 'cancelled':
      case 'aborted':
        this.#publishStatus(TaskState.TASK_STATE_CANCELED, [textPart(causeOf(result))], metadata);
        return;
      case 'step_limit':
      case 'tool_limit':
      case 'token_limit':
      case 'cost_limit':
      case 'timeout':
      case 'context_limit':
      case 'loop_detected':
      case 'invalid_output':
      case 'model_error':
        this.#publishStatus(TaskState.TASK_STATE_FAILED, [textPart(causeOf(result))], metadata);
        return;
      default:
        result satisfies never;
    }
  }

  /** The run could not be executed; `onError` receives the cause. */
  failed(text: string): void {
    this.#publishStatus(this.#sdk.core.TaskState.TASK_STATE_FAILED, [textPart(text)]);
  }

  rejected(text: string): void {
    this.#publishStatus(this.#sdk.core.TaskState.TASK_STATE_REJECTED, [textPart(text)]);
  }

  cancelled(): void {
    this.#publishStatus(this.#sdk.core.TaskState.TASK_STATE_CANCELED, [textPart('cancelled')]);
  }

  #publishStatus(state: TaskState, parts: Part[] | undefined, metadata: { [key: string]: Json } = {}): void {
    const { taskId, contextId } = this.#ids;
    const message: Message | undefined = parts && {
      ...{ messageId: crypto.randomUUID(), role: this.#sdk.core.Role.ROLE_AGENT, taskId, contextId, parts },
      ...{ metadata: {}, extensions: [], referenceTaskIds: [] },
    };
    const status = { state, message, timestamp: now() };
    this.#bus.publish(this.#sdk.AgentEvent.statusUpdate({ taskId, contextId, status, metadata }));
  }

  #publishArtifact(
    parts: Part[],
    how: { readonly append: boolean; readonly lastChunk: boolean },
    metadata: { [key: string]: Json } = {},
  ): void {
    const { taskId, contextId } = this.#ids;
    const artifact: Artifact = {
      artifactId: 'answer',
      name: 'answer',
      description: '',
      parts,
      metadata,
      extensions: [],
    };
    this.#bus.publish(this.#sdk.AgentEvent.artifactUpdate({ taskId, contextId, artifact, ...how, metadata: {} }));
  }
}

const FLUSH_MS = 50;

/** Usage, cost and ids of a run, under coxswain's own keys. */
function metadataOf({ runId, traceId, usage, costUsd }: RunResult): { [key: string]: Json } {
  return {
    'coxswain/runId': runId,
    'coxswain/traceId': traceId,
    'coxswain/usage': { ...usage } as unknown as Json,
    ...(costUsd !== undefined && { 'coxswain/costUsd': costUsd }),
  };
}

export function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: {}, filename: '', mediaType: 'text/plain' };
}

export function dataPart(value: Json): Part {
  return { content: { $case: 'data', value }, metadata: {}, filename: '', mediaType: 'application/json' };
}

function now(): string {
  return new Date().toISOString();
}

function causeOf({ status, error }: Extract<RunResult, { readonly error: unknown }>): string {
  return `${status}: ${error.message}`;
}
