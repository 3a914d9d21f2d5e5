import { runCode } from '../../core/call/code-agent.ts';
import type { Draft } from '../../core/contract/record.ts';
import { loop } from '../../core/loop/loop.ts';
import { mailboxOf, mayWrite } from '../../core/loop/mailbox.ts';
import type { AgentOutcome } from '../../core/runtime/agent-outcome.ts';
import { withEndHooks } from '../../core/runtime/end-hooks.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { RunContext } from '../../core/runtime/run-context.ts';
import { isInterruption } from '../../core/values/status.ts';
import type { RunLog } from '../../journal/record-store.ts';
import type { Ledger } from '../budget/ledger.ts';
import { detachedRunId } from '../detached/detached-run-id.ts';
import { type DetachedInput, type DetachedParts, driveDetached } from '../detached/drive-detached.ts';
import type { InitialInput } from './initial-input.ts';
import type { RunMemories } from './run-memories.ts';
import { agentDone, agentStarted } from './run-records.ts';
import type { TreeModels } from './tree-models.ts';

type LifeParts = RunContext &
  DetachedParts & {
    readonly models: TreeModels;
    readonly log: RunLog | undefined;
    readonly perCall: readonly [Ledger];
    readonly memories: RunMemories;
  };

/** Runs a node from its start to its end, between its two records. */
export class NodeLife {
  readonly #run: LifeParts;

  constructor(run: LifeParts) {
    this.#run = run;
  }

  async live(self: Invocation, initial: InitialInput, detached: DetachedInput | undefined): Promise<AgentOutcome> {
    const run = this.#run;
    if (detached === undefined) {
      self.since = run.journal.note(this.started(self, initial));
      return this.over(self, await this.drive(self, initial));
    }
    self.since = run.journal.note(agentStarted(self, initial, undefined));
    const outcome = await driveDetached(run, self, initial, detached);
    if (!run.isReplay) run.memories.endedDetached(self, detachedRunId(run.id, self.path));
    return this.over(self, outcome);
  }

  /** The record of its start. */
  started(self: Invocation, initial: InitialInput): Draft {
    return agentStarted(self, initial, this.#run.models.factsOf(self));
  }

  /** Within its span, so that spans which its functions and code make lie below it. */
  drive(self: Invocation, initial: InitialInput): Promise<AgentOutcome> {
    const { handle } = self.span;
    return handle === undefined ? this.#driven(self, initial) : handle.run(() => this.#driven(self, initial));
  }

  #driven(self: Invocation, initial: InitialInput): Promise<AgentOutcome> {
    const run = this.#run;
    const { definition } = self;
    if (definition.type === 'code') return withEndHooks(run, self, runCode(run, self, initial.value, initial.brief));
    if (definition.memory.length > 0) run.memories.begins(self, initial.brief);
    const driven = withEndHooks(run, self, loop(run, self, initial));
    if (definition.memory.length === 0 || run.isReplay) return driven;
    return driven.then((outcome) => {
      run.memories.ended(self, initial.brief, outcome);
      return outcome;
    });
  }

  /** Ends a node: releases its reservation, closes its inbox, records its end. */
  over(self: Invocation, outcome: AgentOutcome): AgentOutcome {
    const { inbox, perCall, journal } = this.#run;
    self.end(outcome.status);
    inbox.close(self.path, this.#isResumable(outcome) ? 'deferred' : 'lost');
    if (mayWrite(self)) inbox.close(mailboxOf(self.path), 'lost');
    perCall[0].ended(self);
    if (journal.isWatched) journal.note(agentDone(self, outcome));
    return outcome;
  }

  /** Whether a resume continues a node, and receives again what was for it. */
  #isResumable({ status }: AgentOutcome): boolean {
    return this.#run.log !== undefined && isInterruption(status) && this.#run.cancellation.isInterrupted;
  }
}
