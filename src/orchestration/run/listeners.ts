import { EventEmitter } from 'eventemitter3';
import {
  type EventBody,
  type EventSource,
  type EventType,
  eventState,
  eventsOf,
  modelDelta,
  type RunEvent,
  toolProgress,
} from '../../core/contract/events-of-record.ts';
import type { Instrument } from '../../core/contract/instrument.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { timeNow } from '../../core/values/time.ts';
import { outside } from '../approvals/reentrancy-guard.ts';
import { EventQueue } from './event-queue.ts';
import type { Listener } from './run-handle.ts';
import type { RunObservers } from './run-observers.ts';
import type { CheckedOptions } from './run-options.ts';

/** What listeners use of a run; its id changes where a resume continues in a fork. */
export interface ObservedRun {
  readonly id: string;
  readonly traceId: string;
  readonly observers: RunObservers;
  readonly instrument: Instrument | undefined;
  readonly observerFailed: (error: unknown) => void;
  /** In a replay the instrument has seen the records before. */
  readonly isReplay: boolean;
}

/** The observers of a run: listeners of events, iterations over them, views and the instrument. None of them is part of the run. */
export class Listeners {
  readonly #run: ObservedRun;
  readonly #options: Pick<CheckedOptions, 'views'>;
  #emitter: EventEmitter | undefined;
  #guarded: WeakMap<object, (event: RunEvent) => void> | undefined;
  #queues: Set<EventQueue<RunEvent>> | undefined;
  #state: ReturnType<typeof eventState> | undefined;
  #seq = 0;
  #isOver = false;

  constructor(run: ObservedRun, options: CheckedOptions) {
    this.#run = run;
    this.#options = options;
    if (options.views.length > 0 || run.instrument !== undefined) this.#listen();
  }

  /** True once nothing more is shown. */
  get isOver(): boolean {
    return this.#isOver;
  }

  on<Type extends EventType>(type: Type, listener: Listener<Type>): void {
    this.#emitter ??= new EventEmitter();
    this.#emitter.on(type, this.#guard(listener as (event: never) => unknown));
    this.#listen();
  }

  once<Type extends EventType>(type: Type, listener: Listener<Type>): void {
    this.#emitter ??= new EventEmitter();
    this.#emitter.once(type, this.#guard(listener as (event: never) => unknown));
    this.#listen();
  }

  off<Type extends EventType>(type: Type, listener: Listener<Type>): void {
    const guarded = this.#guarded?.get(listener);
    if (guarded !== undefined) this.#emitter?.off(type, guarded);
  }

  /** Every event of every node of the tree, from now on. */
  events(): AsyncIterator<RunEvent> {
    const queue = new EventQueue<RunEvent>((queue) => this.#queues?.delete(queue));
    if (this.#isOver) queue.end();
    else {
      this.#queues ??= new Set();
      this.#queues.add(queue);
      this.#listen();
    }
    return queue;
  }

  #guard(listener: (event: never) => unknown): (event: RunEvent) => void {
    this.#guarded ??= new WeakMap();
    let guarded = this.#guarded.get(listener);
    if (guarded === undefined) {
      guarded = (event) => this.observe(() => listener(event as never));
      this.#guarded.set(listener, guarded);
    }
    return guarded;
  }

  /** Observers are called from inside the tree and are not part of it: they may decide. */
  observe(call: () => unknown): void {
    try {
      const returned = outside(this.#run.id, call);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#run.observerFailed(error));
    } catch (error) {
      this.#run.observerFailed(error);
    }
  }

  /** Records are made while there is an observer, chunks while there is a listener for them. */
  #listen(): void {
    if (this.#isOver) return;
    const { observers } = this.#run;
    this.#state ??= eventState();
    observers.record ??= (record) => this.#show(record);
    if (this.#emitter === undefined && this.#queues === undefined) return;
    if (this.#queues !== undefined || (this.#emitter?.listenerCount('model.delta') ?? 0) > 0) {
      observers.onDelta ??= ({ self, key, step }, attempt, delta) =>
        this.emit(modelDelta(this.at(self, key, step), attempt, delta));
    }
    observers.onProgress ??= ({ self, key, step }, call, progress) =>
      this.emit(toolProgress(this.at(self, key, step), call, progress));
  }

  /** The source of an event that has no record, now. */
  at(node: Invocation, key: string, step: number): EventSource {
    return { run: this.#run.id, traceId: this.#run.traceId, key, node, step, time: timeNow() };
  }

  #show(record: RunRecord): void {
    const { instrument } = this.#run;
    const { views } = this.#options;
    if (instrument !== undefined && !this.#run.isReplay) this.#measure(instrument, record);
    for (const view of views) this.observe(() => view(record));
    if (this.#state === undefined || (this.#emitter === undefined && this.#queues === undefined)) return;
    for (const body of eventsOf(record, this.#state)) this.emit(body);
  }

  /** An instrument only measures, so it is not called outside of the run's context, which costs as much as a span. */
  #measure(instrument: Instrument, record: RunRecord): void {
    try {
      instrument(record);
    } catch (error) {
      this.#run.observerFailed(error);
    }
  }

  emit(body: EventBody): void {
    if (this.#emitter === undefined && this.#queues === undefined) return;
    this.#seq += 1;
    const event = { ...body, seq: this.#seq } as RunEvent;
    this.#emitter?.emit(event.type, event);
    if (this.#queues !== undefined) for (const queue of this.#queues) queue.push(event);
  }

  /** Abandoned work may still report: nothing of it is shown after the end. */
  silence(): void {
    this.#isOver = true;
    const { observers } = this.#run;
    observers.record = undefined;
    observers.onDelta = undefined;
    observers.onProgress = undefined;
  }

  /** Nothing more is shown, and iterations end. */
  end(): void {
    this.silence();
    if (this.#queues !== undefined) for (const queue of this.#queues) queue.end();
  }

  async flush(): Promise<void> {
    const { instrument } = this.#run;
    const { views } = this.#options;
    const all = instrument === undefined ? views : [...views, instrument];
    if (all.length === 0) return;
    await Promise.all(
      all.map(async (view) => {
        try {
          await view.flush?.();
        } catch (error) {
          this.#run.observerFailed(error);
        }
      }),
    );
  }
}
