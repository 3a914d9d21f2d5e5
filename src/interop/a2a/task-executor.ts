import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import type { Agent } from '../../core/contract/agent.ts';
import type { RunEvent } from '../../core/contract/event.ts';
import { ConfigurationError, isA, messageOf } from '../../core/values/errors.ts';
import { decideRun } from '../../orchestration/entry/decide-run.ts';
import { resumeRun } from '../../orchestration/entry/resume-run.ts';
import { cancelRun } from '../../orchestration/entry/signal-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { RunOptions } from '../../orchestration/run/run-options.ts';
import type { Client } from '../http/client.ts';
import type { ClientSpending, Reservation } from '../http/client-spending.ts';
import type { HttpSettings } from '../http/http-options.ts';
import { Problem } from '../http/problem.ts';
import { progressText } from '../run-progress.ts';
import { PendingWork, serveRun } from '../serve-run.ts';
import { messageInput, readAnswers } from './message-input.ts';
import type { ServerSdk } from './sdk.ts';
import { TaskPublisher } from './task-publisher.ts';

/** A task whose run is active, waits for an answer, or is parked in the journal. */
interface OpenTask {
  readonly client: Client;
  readonly contextId: string;
  readonly abort: AbortController;
  readonly reservation: Reservation | undefined;
  run: Run;
  events: AsyncIterator<RunEvent>;
  /** Resolves when the current request has published its events; undefined while the task waits for a message. */
  driven: Promise<void> | undefined;
}

/** Executes A2A tasks as runs. */
export class TaskExecutor implements AgentExecutor {
  readonly #sdk: ServerSdk;
  readonly #agent: Agent;
  readonly #settings: HttpSettings;
  readonly #spending: ClientSpending | undefined;
  readonly #open = new Map<string, OpenTask>();
  readonly #pendingWork = new PendingWork();

  constructor(sdk: ServerSdk, agent: Agent, settings: HttpSettings, spending: ClientSpending | undefined) {
    this.#sdk = sdk;
    this.#agent = agent;
    this.#settings = settings;
    this.#spending = spending;
  }

  /** True while a request publishes the events of this task: it takes no message until it asks for one. */
  isBusy(taskId: string): boolean {
    return this.#open.get(taskId)?.driven !== undefined;
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publisher = new TaskPublisher(this.#sdk, bus, context);
    publisher.begin(context.task, context.userMessage);
    try {
      const open = this.#open.get(context.taskId);
      const task = open === undefined ? this.#start(context) : await this.#answer(open, context, publisher);
      if (task !== undefined) await this.#drive(context.taskId, task, publisher);
    } catch (thrown) {
      if (isA(thrown, Problem)) publisher.rejected(thrown.message);
      else {
        this.#settings.onError(thrown);
        publisher.failed('The run failed; the server has noted why.');
      }
    }
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const task = this.#open.get(taskId);
    const { driven } = task ?? {};
    if (task !== undefined) await this.#stop(task);
    // A request that publishes this task also publishes the cancellation; a parked task has no such request.
    await driven;
    this.#close(taskId);
    if (driven !== undefined) return;
    new TaskPublisher(this.#sdk, bus, { taskId, contextId: task?.contextId ?? '' }).cancelled();
    bus.finished();
  }

  async #stop({ run, client }: OpenTask): Promise<void> {
    const { journal } = this.#settings.optionsFor(client);
    const result = await Promise.race([run.result.catch(() => undefined), immediate()]);
    if (result === undefined) return run.cancel();
    if (result.status !== 'suspended' || journal === undefined) return;
    await cancelRun(run.id, { journal });
    await resumeRun(this.#anyAgent, run.id, { ...this.#optionsOf(client), journal }).result.catch(noop);
  }

  /** Aborts all; those with a journal can be resumed. */
  async close(): Promise<void> {
    const all = [...this.#open.values()];
    for (const { abort } of all) abort.abort();
    await Promise.all(all.map(({ run, driven }) => Promise.all([run.result.catch(noop), driven])));
    await this.#pendingWork.done();
    this.#open.clear();
  }

  #start({ taskId, contextId, userMessage, context }: RequestContext): OpenTask {
    const client = clientOf(context.state);
    const live = [...this.#open.values()].filter((one) => one.client.name === client.name);
    if (live.length >= this.#settings.maxRuns)
      throw new Problem('limited', `This client has ${live.length} tasks under way.`);
    const options = this.#optionsOf(client);
    const reservation = this.#spending?.reserve(client.name, options.limits);
    const abort = new AbortController();
    const headers = context.state.get(this.#sdk.STATE_HEADERS_KEY);
    try {
      const run = serveRun(
        this.#agent,
        messageInput(this.#agent, userMessage),
        reservation === undefined ? options : { ...options, limits: reservation.limits },
        {
          ...{ runId: `${client.name}.${taskId}`, signal: abort.signal },
          carrier: { ...(headers as object), ...userMessage.metadata },
        },
      );
      const task: OpenTask = {
        ...{ client, contextId, abort, reservation, run, driven: undefined },
        events: run[Symbol.asyncIterator](),
      };
      this.#pendingWork.follow(run);
      this.#open.set(taskId, task);
      return task;
    } catch (thrown) {
      reservation?.reconcile({ usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0, modelCallsWithUsage: 0 } });
      if (isA(thrown, ConfigurationError) && thrown.field.startsWith('input'))
        throw new Problem('invalid-input', thrown.message);
      throw thrown;
    }
  }

  #optionsOf(client: Client): RunOptions {
    const options = this.#settings.optionsFor(client);
    return { ...options, onIdle: options.onIdle ?? (options.journal === undefined ? 'wait' : 'suspend') };
  }

  /** Takes a message as the answer to a task's pending requests. Undefined if the task still waits. */
  async #answer(
    task: OpenTask,
    { userMessage }: RequestContext,
    publisher: TaskPublisher,
  ): Promise<OpenTask | undefined> {
    const result = await Promise.race([task.run.result, immediate()]);
    const pending = result?.status === 'suspended' ? result.pending : task.run.pending();
    const answers = readAnswers(userMessage, pending);
    const problem =
      typeof answers === 'string' ? answers : await this.#decide(task, answers, pending, result !== undefined);
    if (problem !== undefined) {
      publisher.inputRequired(pending, this.#mayDecide(task), problem);
      return undefined;
    }
    if (result === undefined) return task;
    const { journal } = this.#settings.optionsFor(task.client);
    if (journal === undefined)
      throw new ConfigurationError('journal', 'missing', 'A suspended run needs the journal that has it.');
    const options = { ...this.#optionsOf(task.client), journal, signal: task.abort.signal };
    const limits = task.reservation?.limits;
    task.run = resumeRun(this.#anyAgent, task.run.id, limits === undefined ? options : { ...options, limits });
    this.#pendingWork.follow(task.run);
    task.events = task.run[Symbol.asyncIterator]();
    return task;
  }

  async #decide(
    { client, run }: OpenTask,
    answers: Exclude<ReturnType<typeof readAnswers>, string>,
    pending: ReturnType<Run['pending']>,
    isParked: boolean,
  ): Promise<string | undefined> {
    const { journal } = this.#settings.optionsFor(client);
    for (const { id, decision } of answers) {
      const request = pending.find((one) => one.id === id);
      if (request === undefined || !this.#settings.mayDecide(client, request)) return 'this client may not answer it';
      try {
        if (isParked && journal !== undefined) await decideRun(run.id, id, decision, { journal });
        else await run.decide(id, decision);
      } catch (thrown) {
        if (!isA(thrown, ConfigurationError)) throw thrown;
        return messageOf(thrown);
      }
    }
    return undefined;
  }

  async #drive(taskId: string, task: OpenTask, publisher: TaskPublisher): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    task.driven = promise;
    try {
      if (await this.#publishEvents(task, publisher)) return;
      const result = await task.run.result;
      if (result.status === 'suspended') {
        publisher.inputRequired(result.pending, this.#mayDecide(task));
        return;
      }
      task.reservation?.reconcile(result);
      this.#open.delete(taskId);
      publisher.finish(result);
    } catch (thrown) {
      this.#close(taskId);
      throw thrown;
    } finally {
      task.driven = undefined;
      resolve();
    }
  }

  /** Publishes events until the run ends (false) or waits for an answer (true). */
  async #publishEvents(task: OpenTask, publisher: TaskPublisher): Promise<boolean> {
    for (;;) {
      const next = await task.events.next();
      if (next.done === true) return false;
      const event = next.value;
      const isRoot = !event.path.includes('/');
      if (event.type === 'approval.request') {
        // Requests of one turn are published together.
        await immediate();
        const pending = task.run.pending();
        const isOpen = pending.some(({ id }) => id === event.request.id);
        if (isOpen && this.#optionsOf(task.client).onIdle !== 'deny' && !this.#parks(task)) {
          publisher.inputRequired(pending, this.#mayDecide(task));
          return true;
        }
      } else if (isRoot && (event.type === 'model.start' || event.type === 'model.retry')) publisher.restart();
      else if (isRoot && event.type === 'model.delta' && event.delta.type === 'text') publisher.piece(event.delta.text);
      // The task's own state shows the start and end of the root.
      const text = isRoot && !event.type.startsWith('tool.') ? undefined : progressText(event);
      if (text !== undefined) publisher.working(text);
    }
  }

  #mayDecide({ client }: OpenTask) {
    return (request: Parameters<HttpSettings['mayDecide']>[1]) => this.#settings.mayDecide(client, request);
  }

  /** With a journal the run parks when nothing else of it can continue; its requests are published then. */
  #parks({ client }: OpenTask): boolean {
    return this.#optionsOf(client).onIdle === 'suspend';
  }

  #close(taskId: string): void {
    const task = this.#open.get(taskId);
    if (task === undefined) return;
    this.#open.delete(taskId);
    void task.run.result.then((result) => task.reservation?.reconcile(result), noop);
  }

  get #anyAgent(): Agent<never, unknown, unknown> {
    return this.#agent as Agent<never, unknown, unknown>;
  }
}

/** The key of the client in a call's state. */
export const CLIENT = 'coxswain/client';

function clientOf(state: ReadonlyMap<string, unknown>): Client {
  return state.get(CLIENT) as Client;
}

function immediate(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined));
}

function noop(): void {}
