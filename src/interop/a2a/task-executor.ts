import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import type { Agent } from '../../core/contract/agent.ts';
import type { RunEvent } from '../../core/contract/event.ts';
import { ConfigurationError, isA, messageOf } from '../../core/values/errors.ts';
import { cancelRun } from '../../orchestration/entry/cancel-run.ts';
import { decideRun } from '../../orchestration/entry/decide-run.ts';
import { resumeRun } from '../../orchestration/entry/resume-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { RunOptions } from '../../orchestration/run/run-options.ts';
import { Afterwards } from '../afterwards.ts';
import type { Client } from '../http/client.ts';
import type { ClientSpending, Reservation } from '../http/client-spending.ts';
import type { HttpSettings } from '../http/http-options.ts';
import { Problem } from '../http/problem.ts';
import { progressText } from '../progress-text.ts';
import { serveRun } from '../serve-run.ts';
import { answersOf, inputOf } from './message-input.ts';
import type { ServerSdk } from './sdk.ts';
import { TaskVoice } from './task-voice.ts';

/** A task whose run is under way, waits for an answer, or is parked in the journal. */
interface OpenTask {
  readonly client: Client;
  readonly contextId: string;
  readonly abort: AbortController;
  readonly reservation: Reservation | undefined;
  run: Run;
  events: AsyncIterator<RunEvent>;
  /** Whether somebody is told what happens; else it waits for a message. */
  driven: Promise<void> | undefined;
}

/** Runs tasks of other agents as runs of ours. */
export class TaskExecutor implements AgentExecutor {
  readonly #sdk: ServerSdk;
  readonly #agent: Agent;
  readonly #settings: HttpSettings;
  readonly #spending: ClientSpending | undefined;
  readonly #open = new Map<string, OpenTask>();
  readonly #afterwards = new Afterwards();

  constructor(sdk: ServerSdk, agent: Agent, settings: HttpSettings, spending: ClientSpending | undefined) {
    this.#sdk = sdk;
    this.#agent = agent;
    this.#settings = settings;
    this.#spending = spending;
  }

  /** A task that is told of takes no message until it asks for one. */
  isBusy(taskId: string): boolean {
    return this.#open.get(taskId)?.driven !== undefined;
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const voice = new TaskVoice(this.#sdk, bus, context);
    voice.begin(context.task, context.userMessage);
    try {
      const known = this.#open.get(context.taskId);
      const task = known === undefined ? this.#start(context) : await this.#answer(known, context, voice);
      if (task !== undefined) await this.#tell(context.taskId, task, voice);
    } catch (thrown) {
      if (isA(thrown, Problem)) voice.rejected(thrown.message);
      else {
        this.#settings.onError(thrown);
        voice.failed('The run failed; the server has noted why.');
      }
    }
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const task = this.#open.get(taskId);
    const { driven } = task ?? {};
    if (task !== undefined) await this.#stop(task);
    // Who tells of it says that it was cancelled; of a parked one nobody does.
    await driven;
    this.#close(taskId);
    if (driven !== undefined) return;
    new TaskVoice(this.#sdk, bus, { taskId, contextId: task?.contextId ?? '' }).cancelled();
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

  /** Aborts all; those with a journal can go on. */
  async close(): Promise<void> {
    const all = [...this.#open.values()];
    for (const { abort } of all) abort.abort();
    await Promise.all(all.map(({ run, driven }) => Promise.all([run.result.catch(noop), driven])));
    await this.#afterwards.done();
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
        inputOf(this.#agent, userMessage),
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
      this.#afterwards.follow(run);
      this.#open.set(taskId, task);
      return task;
    } catch (thrown) {
      reservation?.settle({ usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0, modelCallsWithUsage: 0 } });
      if (isA(thrown, ConfigurationError) && thrown.field.startsWith('input'))
        throw new Problem('invalid-input', thrown.message);
      throw thrown;
    }
  }

  #optionsOf(client: Client): RunOptions {
    const given = this.#settings.optionsFor(client);
    return { ...given, onIdle: given.onIdle ?? (given.journal === undefined ? 'wait' : 'suspend') };
  }

  /** Takes a message as the answer to what a task waits for. Undefined where it still waits. */
  async #answer(task: OpenTask, { userMessage }: RequestContext, voice: TaskVoice): Promise<OpenTask | undefined> {
    const result = await Promise.race([task.run.result, immediate()]);
    const pending = result?.status === 'suspended' ? result.pending : task.run.pending();
    const answers = answersOf(userMessage, pending);
    const problem =
      typeof answers === 'string' ? answers : await this.#decide(task, answers, pending, result !== undefined);
    if (problem !== undefined) {
      voice.inputRequired(pending, this.#mayDecide(task), problem);
      return undefined;
    }
    if (result === undefined) return task;
    const { journal } = this.#settings.optionsFor(task.client);
    if (journal === undefined)
      throw new ConfigurationError('journal', 'missing', 'A suspended run needs the journal that has it.');
    const options = { ...this.#optionsOf(task.client), journal, signal: task.abort.signal };
    const limits = task.reservation?.limits;
    task.run = resumeRun(this.#anyAgent, task.run.id, limits === undefined ? options : { ...options, limits });
    this.#afterwards.follow(task.run);
    task.events = task.run[Symbol.asyncIterator]();
    return task;
  }

  async #decide(
    { client, run }: OpenTask,
    answers: Exclude<ReturnType<typeof answersOf>, string>,
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

  async #tell(taskId: string, task: OpenTask, voice: TaskVoice): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    task.driven = promise;
    try {
      if (await this.#waits(task, voice)) return;
      const result = await task.run.result;
      if (result.status === 'suspended') {
        voice.inputRequired(result.pending, this.#mayDecide(task));
        return;
      }
      task.reservation?.settle(result);
      this.#open.delete(taskId);
      voice.ended(result);
    } catch (thrown) {
      this.#close(taskId);
      throw thrown;
    } finally {
      task.driven = undefined;
      resolve();
    }
  }

  /** Tells what happens until the run is over, or it waits for an answer. */
  async #waits(task: OpenTask, voice: TaskVoice): Promise<boolean> {
    for (;;) {
      const next = await task.events.next();
      if (next.done === true) return false;
      const event = next.value;
      const isRoot = !event.path.includes('/');
      if (event.type === 'approval.request') {
        // Requests of the same turn are asked together.
        await immediate();
        const pending = task.run.pending();
        const isOpen = pending.some(({ id }) => id === event.request.id);
        if (isOpen && this.#optionsOf(task.client).onIdle !== 'deny' && !this.#parks(task)) {
          voice.inputRequired(pending, this.#mayDecide(task));
          return true;
        }
      } else if (isRoot && (event.type === 'model.start' || event.type === 'model.retry')) voice.restart();
      else if (isRoot && event.type === 'model.delta' && event.delta.type === 'text') voice.piece(event.delta.text);
      // Of the root the task's own state says it.
      const text = isRoot && !event.type.startsWith('tool.') ? undefined : progressText(event);
      if (text !== undefined) voice.working(text);
    }
  }

  #mayDecide({ client }: OpenTask) {
    return (request: Parameters<HttpSettings['mayDecide']>[1]) => this.#settings.mayDecide(client, request);
  }

  /** With a journal the run is parked once nothing else of it can go on, and is asked about then. */
  #parks({ client }: OpenTask): boolean {
    return this.#optionsOf(client).onIdle === 'suspend';
  }

  #close(taskId: string): void {
    const task = this.#open.get(taskId);
    if (task === undefined) return;
    this.#open.delete(taskId);
    void task.run.result.then((result) => task.reservation?.settle(result), noop);
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
