import type { RecordOf } from '../../core/contract/events-of-record.ts';
import type { Call, Layer, Outcome, Work } from '../../core/runtime/journal.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import { modelErrorFacts } from '../../core/values/model-error-kind.ts';
import { LONGEST_TIMER_MS } from '../../core/values/time.ts';
import type { Limiter } from './limiter.ts';

export type GateNote = RecordOf<'gate'>['value'];

/** Called once a run when a gate is closed for it, and when it is open again. */
export interface GateWatcher {
  gate(call: Call<never>, note: GateNote): void;
}

/** Calls that waited together continue spread over this share of the wait, one second at most. */
const SPREAD = 0.25;
const LONGEST_SPREAD_MS = 1_000;

/** Closed gates of this process, by key: when they open (`performance.now()`), and over how many milliseconds the calls that waited continue. */
const closed = new Map<string, { until: number; spreadMs: number }>();

function closedGate(key: string, now: number) {
  const gate = closed.get(key);
  if (gate !== undefined && gate.until <= now) {
    closed.delete(key);
    return undefined;
  }
  return gate;
}

/**
 * The layer before the limiter: while a provider asks to wait (429 or overload with Retry-After), all calls of this process to it
 * wait here, without a slot, until the gate opens or a stop comes. A Retry-After beyond `maxRetryAfterMs` closes nothing: its call
 * fails at once, and so will the others.
 */
export class Gate implements Layer {
  readonly #limiter: Limiter;
  readonly #watcher: GateWatcher;
  /** Gates whose closing this run has noted. */
  #noted: Set<string> | undefined;
  /** Calls that were asked to wait, and the spread of their return in milliseconds. Their own retry delay is as long as the others' wait. */
  #asked: WeakMap<Work, number> | undefined;

  constructor(limiter: Limiter, watcher: GateWatcher) {
    this.#limiter = limiter;
    this.#watcher = watcher;
  }

  enter(call: Call<never>, work: Work): undefined | Promise<undefined> {
    // It has a limiter of its own, where it runs.
    if (call.kind === 'child') return undefined;
    const key = call.gate;
    if (key === undefined) return this.#limiter.enter(call, work);
    if (closed.size > 0 || this.#noted !== undefined || this.#asked?.has(work)) return this.#pass(key, call, work);
    const queued = this.#limiter.enter(call, work);
    return queued && this.#pass(key, call, work, queued);
  }

  /** A call that got its slot after the gate had closed gives it back and waits for the gate. */
  async #pass(key: string, call: Call<never>, work: Work, queued?: Promise<undefined>): Promise<undefined> {
    let slot = queued;
    const spreadMs = this.#asked?.get(work);
    if (spreadMs !== undefined) {
      this.#asked?.delete(work);
      await pause(Math.random() * spreadMs, work);
      if (work.stop !== undefined) return;
    }
    for (;;) {
      let gate = closedGate(key, performance.now());
      if (gate === undefined || slot !== undefined) {
        await (slot ?? this.#limiter.enter(call, work));
        slot = undefined;
        gate = closedGate(key, performance.now());
        if (work.stop !== undefined) return;
        if (gate === undefined) return this.#noteOpened(key, call);
        this.#limiter.leave(call, NOTHING_HAPPENED, work);
      }
      this.#noteClosed(key, call, gate.until);
      await pause(gate.until - performance.now() + Math.random() * gate.spreadMs, work);
      if (work.stop !== undefined) return;
    }
  }

  leave(call: Call<never>, outcome: Outcome, work: Work): void {
    this.#limiter.leave(call, outcome, work);
    const key = call.gate;
    if (key === undefined || outcome.ok || modelErrorFacts(outcome.error.kind)?.closesGate !== true) return;
    const waitMs = outcome.error.retryAfterMs ?? 0;
    if (waitMs <= 0 || waitMs > (call.retry?.maxRetryAfterMs ?? DEFAULTS.retry.maxRetryAfterMs)) return;
    const until = performance.now() + waitMs;
    const spreadMs = Math.min(LONGEST_SPREAD_MS, waitMs * SPREAD);
    if (until > (closed.get(key)?.until ?? 0)) closed.set(key, { until, spreadMs });
    this.#asked ??= new WeakMap();
    this.#asked.set(work, spreadMs);
    this.#noteClosed(key, call, until);
  }

  #noteClosed(gate: string, call: Call<never>, until: number): void {
    if (this.#noted?.has(gate)) return;
    this.#noted ??= new Set();
    this.#noted.add(gate);
    this.#watcher.gate(call, { gate, state: 'closed', untilMs: Math.round(Date.now() + until - performance.now()) });
  }

  #noteOpened(gate: string, call: Call<never>): undefined {
    if (!this.#noted?.delete(gate)) return;
    if (this.#noted.size === 0) this.#noted = undefined;
    this.#watcher.gate(call, { gate, state: 'opened' });
  }
}

const NOTHING_HAPPENED: Outcome = Object.freeze({ ok: true, value: undefined });

function pause(ms: number, work: Work): Promise<void> {
  if (work.stop !== undefined) return Promise.resolve();
  return new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
    work.onStop = () => {
      clearTimeout(timer);
      resolve();
    };
  }).then(() => {
    work.onStop = undefined;
  });
}
