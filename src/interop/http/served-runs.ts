import { randomUUID } from 'node:crypto';
import type { Agent } from '../../core/contract/agent.ts';
import type { Decision } from '../../core/contract/permission.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { ConfigurationError, FencedError, isA } from '../../core/values/errors.ts';
import { type Json, sha256 } from '../../core/values/json.ts';
import { isFinal } from '../../core/values/status.ts';
import type { RecordStore } from '../../journal/record-store.ts';
import { decideRun } from '../../orchestration/entry/decide-run.ts';
import { resumeRun } from '../../orchestration/entry/resume-run.ts';
import { cancelRun } from '../../orchestration/entry/signal-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { RunOptions } from '../../orchestration/run/run-options.ts';
import { PendingWork, serveRun } from '../serve-run.ts';
import type { Client } from './client.ts';
import { ClientSpending, type Reservation } from './client-spending.ts';
import { EventLog, storedEvents } from './event-log.ts';
import { fullEventView, namesEventView } from './event-view.ts';
import type { HttpSettings } from './http-options.ts';
import { asConflict, Problem } from './problem.ts';
import { fingerprintOf, ServedRun, storedFingerprint } from './served-run.ts';

/** How a run is to be started for a client. */
export interface Start {
  readonly agent: Agent;
  readonly input: Json;
  readonly client: Client;
  /** `Idempotency-Key`: the same one gives the same run. */
  readonly key: string | undefined;
  /** Headers with the caller's `traceparent`. */
  readonly carrier: { readonly [name: string]: unknown };
}

/** The number of finished runs whose results are available; beyond it the oldest are forgotten. */
const KEPT = 1_000;

/** The runs of all clients of a server. A run's id begins with the name of its client, and no other client finds it. */
export class ServedRuns {
  readonly #settings: HttpSettings;
  readonly #spending: ClientSpending | undefined;
  readonly #runs = new Map<string, ServedRun>();
  /** Runs that are being looked up, so that two who ask at once get one. */
  readonly #loading = new Map<string, Promise<ServedRun | undefined>>();
  readonly #reservations = new Map<string, Reservation>();
  /** Active runs, by client. */
  readonly #live = new Map<string, number>();
  /** Runs that are over, the oldest first, and until when they are kept. */
  readonly #over = new Map<ServedRun, number>();
  readonly #afterwards = new PendingWork();
  #isClosed = false;

  constructor(settings: HttpSettings) {
    this.#settings = settings;
    this.#spending = settings.budget && new ClientSpending(settings.budget);
  }

  /** Starts a run, or returns the one that this Idempotency-Key has started. */
  async start({ agent, input, client, key, carrier }: Start): Promise<{ run: ServedRun; isNew: boolean }> {
    const fingerprint = key === undefined ? '' : fingerprintOf(agent, input);
    const id = `${client.name}.${key === undefined ? randomUUID() : sha256(key).slice(0, 32)}`;
    // Another request with this key may have started it during the look-up in the journal.
    const existing = key === undefined ? undefined : ((await this.find(id, client)) ?? this.#runs.get(id));
    if (existing !== undefined) {
      if (existing.fingerprint === fingerprint) return { run: existing, isNew: false };
      throw new Problem('invalid-input', 'This Idempotency-Key has started a run with another agent or input.');
    }
    if (this.#isClosed) throw closing();
    const live = this.#live.get(client.name) ?? 0;
    if (live >= this.#settings.maxRuns)
      throw new Problem('limited', `This client has ${live} runs under way.`, { 'retry-after': '5' });
    const run = this.#served(id, agent, client, fingerprint, this.#settings.optionsFor(client));
    this.#follow(run, client, (options, signal) => serveRun(agent, input, options, { carrier, runId: id, signal }));
    return { run, isNew: true };
  }

  #served(id: string, agent: Agent, client: Client, fingerprint: string, { journal }: RunOptions): ServedRun {
    const {
      onDisconnect = journal === undefined ? 'cancel' : 'continue',
      abandonMs,
      full,
      maxLogBytes,
    } = this.#settings;
    const run = new ServedRun({
      ...{ id, agent, client: client.name, fingerprint },
      log: new EventLog(
        full ? fullEventView : namesEventView((request) => this.#settings.mayDecide(client, request)),
        maxLogBytes,
      ),
      abandonMs: onDisconnect === 'cancel' ? abandonMs : undefined,
    });
    this.#runs.set(id, run);
    return run;
  }

  /** Starts or resumes; what is no fault of the client's is the server's. */
  #follow(served: ServedRun, client: Client, begin: (options: RunOptions, signal: AbortSignal) => Run): void {
    const abort = new AbortController();
    try {
      const run = begin(this.#optionsOf(served, client), abort.signal);
      this.#afterwards.follow(run);
      served.follow(run, abort);
    } catch (thrown) {
      this.#forget(served);
      if (isA(thrown, ConfigurationError) && thrown.field.startsWith('input'))
        throw new Problem('invalid-input', thrown.message);
      throw thrown;
    }
    this.#over.delete(served);
    this.#count(served.client, 1);
    void served.over.then(() => {
      this.#count(served.client, -1);
      this.#retain(served);
    });
  }

  #optionsOf({ id }: ServedRun, client: Client): RunOptions {
    const given = this.#settings.optionsFor(client);
    const own: RunOptions = { ...given, onIdle: given.onIdle ?? (given.journal === undefined ? 'wait' : 'suspend') };
    if (this.#spending === undefined) return own;
    const reservation = this.#reservations.get(id) ?? this.#spending.reserve(client.name, given.limits);
    this.#reservations.set(id, reservation);
    return { ...own, limits: reservation.limits };
  }

  #retain(served: ServedRun): void {
    const { result, failure } = served;
    if (failure !== undefined && !isA(failure, FencedError)) this.#settings.onError(failure);
    if (result !== undefined && result.status !== 'suspended') this.#reconcile(served);
    this.#over.set(served, Date.now() + this.#settings.keepMs);
    for (const [oldest, until] of this.#over) {
      if (this.#over.size <= KEPT && Date.now() < until) break;
      this.#forget(oldest);
    }
  }

  #count(client: string, more: 1 | -1): void {
    const live = (this.#live.get(client) ?? 0) + more;
    if (live > 0) this.#live.set(client, live);
    else this.#live.delete(client);
  }

  #reconcile({ id, result }: ServedRun): void {
    if (result !== undefined) this.#reservations.get(id)?.reconcile(result);
    this.#reservations.delete(id);
  }

  #forget(served: ServedRun): void {
    this.#over.delete(served);
    this.#reconcile(served);
    if (this.#runs.get(served.id) === served) this.#runs.delete(served.id);
  }

  /** A run of this client, in this process or in the journal, from which it is then resumed. */
  async find(id: string, client: Client): Promise<ServedRun | undefined> {
    if (!id.startsWith(`${client.name}.`)) return undefined;
    const existing = this.#runs.get(id);
    if (existing !== undefined) return existing;
    const { journal } = this.#settings.optionsFor(client);
    if (journal === undefined) return undefined;
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = this.#load(id, client).finally(() => this.#loading.delete(id));
      this.#loading.set(id, loading);
    }
    return loading;
  }

  async #load(id: string, client: Client): Promise<ServedRun | undefined> {
    const options = this.#settings.optionsFor(client);
    const stored = await options.journal?.read(id);
    const agent = stored && this.#settings.agents.get(stored.agent);
    if (stored === undefined || agent === undefined) return undefined;
    if (this.#isClosed) throw closing();
    const served = this.#served(id, agent, client, storedFingerprint(stored), options);
    for (const event of storedEvents(stored)) served.log.append(event);
    if (isFinal(stored.status) || stored.status === 'suspended') {
      served.endWith(stored.result as unknown as RunResult);
      this.#retain(served);
      return served;
    }
    await this.#resume(served, client);
    return served;
  }

  /** Resumes a run that was interrupted or suspended. Resolves when it is active. */
  async #resume(served: ServedRun, client: Client): Promise<void> {
    if (this.#isClosed) throw closing();
    const { journal } = this.#settings.optionsFor(client);
    if (journal === undefined) throw new Problem('conflict', 'The run is not under way, and there is no journal.');
    served.log.reopen();
    let begun: Promise<unknown> | undefined;
    this.#follow(served, client, (options, signal) => {
      const signals = options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]);
      const run = resumeRun(served.agent as Agent<never, unknown, unknown>, served.id, {
        ...options,
        journal,
        signal: signals,
      });
      begun = new Promise<void>((resolve) => void run.once('run.start', () => resolve()));
      return run;
    });
    await Promise.race([begun, served.over]);
    const { failure } = served;
    if (failure === undefined) return;
    this.#forget(served);
    if (!isA(failure, FencedError)) throw failure;
    throw new Problem('elsewhere', 'Ask the process that has it, or again when that is gone.', { 'retry-after': '5' });
  }

  /** Decides a request of a run; a parked run that waited for it alone is resumed. */
  async decide(served: ServedRun, client: Client, id: string, decision: Decision): Promise<void> {
    const find = () => served.pending().find((one) => one.id === id);
    if (find() === undefined) await new Promise((resolve) => setImmediate(resolve));
    const request = find();
    if (request === undefined)
      throw new Problem('conflict', `Nothing waits under this id; the run is ${served.status}.`);
    if (!this.#settings.mayDecide(client, request))
      throw new Problem('forbidden', 'This client may not answer this request.');
    await asConflict(async () => {
      const { live } = served;
      if (live !== undefined) {
        try {
          return await live.decide(id, decision);
        } catch (thrown) {
          // It was just being parked: then the journal takes the answer.
          await Promise.race([served.over, new Promise((resolve) => setImmediate(resolve))]);
          if (served.result?.status !== 'suspended') throw thrown;
        }
      }
      const { journal } = this.#settings.optionsFor(client);
      if (journal === undefined || served.result?.status !== 'suspended')
        throw new Problem('conflict', `Nothing waits under this id; the run is ${served.status}.`);
      await decideRun(served.id, id, decision, { journal });
      if (served.live === undefined) await this.#resume(served, client);
    });
  }

  /** Stops a run, or a part of it; resolves when that has ended. */
  async cancel(served: ServedRun, client: Client, path: string | undefined, reason: string | undefined): Promise<void> {
    await asConflict(async () => {
      const { live } = served;
      if (live !== undefined) {
        await live.cancel(path, reason);
        if (path === undefined) await served.over;
        return;
      }
      const { journal } = this.#settings.optionsFor(client);
      if (journal === undefined || served.result?.status !== 'suspended')
        throw new Problem('conflict', `There is nothing to stop; the run is ${served.status}.`);
      await cancelRun(served.id, { journal, path, reason });
      await this.#resume(served, client);
      if (path === undefined) await served.over;
    });
  }

  /** Runs of a client, the newest last: those here, and those of the journal. */
  async list(
    client: Client,
  ): Promise<readonly { readonly runId: string; readonly agent: string; readonly status: string }[]> {
    const listed = new Map<string, { runId: string; agent: string; status: string }>();
    const { journal } = this.#settings.optionsFor(client);
    for (const { id, agent, status } of (await journal?.list()) ?? [])
      if (id.startsWith(`${client.name}.`) && this.#settings.agents.has(agent))
        listed.set(id, { runId: id, agent, status });
    for (const { id, client: name, agent, status } of this.#runs.values())
      if (name === client.name) listed.set(id, { runId: id, agent: agent.name, status });
    return [...listed.values()];
  }

  /** Resumes runs that were interrupted with their process, without waiting for their clients. */
  async resumeAll(journal: RecordStore): Promise<void> {
    for (const { id, agent, status } of await journal.list()) {
      const [, name] = /^([A-Za-z][\w-]*)\./.exec(id) ?? [];
      if (name === undefined || !this.#settings.agents.has(agent) || (status !== 'running' && status !== 'aborted'))
        continue;
      await this.find(id, { name, address: '' }).catch((error: unknown) => {
        // Another process has it.
        if (!isA(error, Problem)) this.#settings.onError(error);
      });
    }
  }

  /** Stops all runs as `aborted` and forgets them; those with a journal can be resumed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#runs.values()];
    for (const run of all) run.abort();
    await Promise.all(all.map((run) => run.over));
    await this.#afterwards.done();
    this.#runs.clear();
  }
}

function closing(): Problem {
  return new Problem('limited', 'The server is closing.', { 'retry-after': '5' }, 503);
}
