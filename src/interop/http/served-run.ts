import type { Agent } from '../../core/contract/agent.ts';
import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { ConfigurationError, isA } from '../../core/values/errors.ts';
import { canonical, type Json, sha256 } from '../../core/values/json.ts';
import { UNTRUSTED } from '../../core/values/label.ts';
import { beginningOf } from '../../journal/beginning.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import { initialInput } from '../../orchestration/run/initial-input.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { EventLog } from './event-log.ts';
import { Problem } from './problem.ts';

/** A run of a client: its events, its watchers and its result. It outlives the handle of a run that is suspended and resumed. */
export class ServedRun {
  readonly id: string;
  readonly agent: Agent;
  readonly client: string;
  readonly log: EventLog;
  /** Hash of its agent and input, if an Idempotency-Key started it: the same key with another request is refused. */
  readonly fingerprint: string;
  #run: Run | undefined;
  #result: RunResult | undefined;
  #failure: unknown;
  #abort: AbortController | undefined;
  #over: Promise<void> = Promise.resolve();
  #watchers = 0;
  #abandon: NodeJS.Timeout | undefined;
  readonly #abandonMs: number | undefined;

  constructor(facts: {
    readonly id: string;
    readonly agent: Agent;
    readonly client: string;
    readonly log: EventLog;
    readonly fingerprint: string;
    /** Milliseconds without a watcher after which it is aborted; undefined: never. */
    readonly abandonMs: number | undefined;
  }) {
    this.id = facts.id;
    this.agent = facts.agent;
    this.client = facts.client;
    this.log = facts.log;
    this.fingerprint = facts.fingerprint;
    this.#abandonMs = facts.abandonMs;
  }

  /** Its handle while it is active. */
  get live(): Run | undefined {
    return this.#run;
  }

  /** Its result; also that of a suspended run. */
  get result(): RunResult | undefined {
    return this.#result;
  }

  /** The error with which its result rejected, if it did. */
  get failure(): unknown {
    return this.#failure;
  }

  get status(): string {
    if (this.#run !== undefined) return 'running';
    return this.#failure !== undefined ? 'failed' : (this.#result?.status ?? 'running');
  }

  /** Resolves when it is no longer active. Never rejects. */
  get over(): Promise<void> {
    return this.#over;
  }

  pending(): readonly (ApprovalRequest | WaitRequest)[] {
    if (this.#run !== undefined) return this.#run.pending();
    return this.#result?.status === 'suspended' ? this.#result.pending : [];
  }

  /** Follows a handle of the run until it ends. */
  follow(run: Run, abort: AbortController): void {
    this.#run = run;
    this.#abort = abort;
    this.#failure = undefined;
    this.#over = this.#toEnd(run);
    this.#arm();
  }

  /** Takes the result of a run that its records show as finished. */
  endWith(result: RunResult): void {
    this.#result = result;
    this.log.end();
  }

  async #toEnd(run: Run): Promise<void> {
    const logged = (async () => {
      for await (const event of run) this.log.append(event);
    })();
    try {
      this.#result = await run.result;
    } catch (thrown) {
      this.#failure = thrown ?? new Error('The run failed.');
    }
    await logged;
    this.#run = undefined;
    clearTimeout(this.#abandon);
    this.log.end();
  }

  /** The run ends `aborted`; with a journal it can be resumed. */
  abort(): void {
    this.#abort?.abort();
  }

  /** Counts a watcher until the returned function is called. */
  enter(): () => void {
    this.#watchers += 1;
    clearTimeout(this.#abandon);
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#watchers -= 1;
      this.#arm();
    };
  }

  #arm(): void {
    if (this.#watchers > 0 || this.#run === undefined || this.#abandonMs === undefined) return;
    clearTimeout(this.#abandon);
    this.#abandon = setTimeout(() => this.abort(), this.#abandonMs).unref();
  }
}

/**
 * A hash of the agent and input of a run, which shows whether an Idempotency-Key is repeated with the same request.
 *
 * @throws Problem `invalid-input` if the agent does not take the input.
 */
export function fingerprintOf(agent: Agent, input: Json): string {
  try {
    const { brief, value } = initialInput(agent, input, UNTRUSTED);
    return fingerprint(agent.name, brief, value);
  } catch (thrown) {
    if (isA(thrown, ConfigurationError)) throw new Problem('invalid-input', thrown.message);
    throw thrown;
  }
}

/** The same of a run in a journal. */
export function storedFingerprint(stored: StoredRun): string {
  const { brief, value } = beginningOf(stored);
  return fingerprint(stored.agent, brief, value);
}

function fingerprint(agent: string, brief: unknown, value: unknown): string {
  return sha256(canonical(JSON.parse(JSON.stringify({ agent, brief, value: value ?? null }))));
}
