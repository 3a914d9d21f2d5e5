import { runCode } from '../../core/call/code-agent.ts';
import type { AgentOutcome } from '../../core/contract/agent-outcome.ts';
import type { Draft } from '../../core/contract/record.ts';
import { loop } from '../../core/loop/loop.ts';
import { mailboxOf, mayWrite } from '../../core/loop/mailbox.ts';
import { withEndHooks } from '../../core/runtime/end-hooks.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { RunContext } from '../../core/runtime/run-context.ts';
import { isInterruption } from '../../core/values/status.ts';
import type { RunLog } from '../../journal/record-store.ts';
import type { Ledger } from '../budget/ledger.ts';
import { detachedRunId } from '../detached/detached-run-id.ts';
import { type DetachedParts, driveDetached } from '../detached/drive-detached.ts';
import type { Detached } from './children.ts';
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

  async live(self: Invocation, start: InitialInput, detached: Detached | undefined): Promise<AgentOutcome> {
    const run = this.#run;
    if (detached === undefined) {
      self.since = run.journal.note(this.started(self, start));
      return this.over(self, await this.drive(self, start));
    }
    self.since = run.journal.note(agentStarted(self, start, undefined));
    const outcome = await driveDetached(run, self, start, detached);
    if (!run.isReplay) run.memories.endedDetached(self, detachedRunId(run.id, self.path));
    return this.over(self, outcome);
  }

  /** The record of its start. */
  started(self: Invocation, start: InitialInput): Draft {
    return agentStarted(self, start, this.#run.models.factsOf(self));
  }

  /** Within its span, so that spans which its functions and code make lie below it. */
  drive(self: Invocation, start: InitialInput): Promise<AgentOutcome> {
    const { handle } = self.span;
    return handle === undefined ? this.#driven(self, start) : handle.run(() => this.#driven(self, start));
  }

  #driven(self: Invocation, start: InitialInput): Promise<AgentOutcome> {
    const run = this.#run;
    const { definition } = self;
    if (definition.type === 'code') return withEndHooks(run, self, runCode(run, self, start.value, start.brief));
    if (definition.memory.length > 0) run.memories.begins(self, start.brief);
    const driven = withEndHooks(run, self, loop(run, self, start));
    if (definition.memory.length === 0 || run.isReplay) return driven;
    return driven.then((outcome) => {
      run.memories.ended(self, start.brief, outcome);
      return outcome;
    });
  }

  /** Ends a node: releases its reservation, closes its inbox, records its end. */
  over(self: Invocation, outcome: AgentOutcome): AgentOutcome {
    const { inbox, perCall, journal } = this.#run;
    self.end(outcome.status);
    inbox.close(self.path, this.#isResumable(outcome) ? 'kept' : 'lost');
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
