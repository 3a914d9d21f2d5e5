import type { DetachedChild, DetachedOutcome, Grant } from '../../core/contract/detached.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { TreeNode } from '../../core/contract/result.ts';
import type { AgentOutcome } from '../../core/runtime/agent-outcome.ts';
import type { InitialMessages } from '../../core/runtime/initial-messages.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Failure, Outcome } from '../../core/runtime/journal.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { Json } from '../../core/values/json.ts';
import { joinLabels } from '../../core/values/label.ts';
import { spendingOf } from '../../core/values/spending.ts';
import { statusOfFailure } from '../../core/values/status.ts';
import { asJson } from '../../journal/row.ts';
import { type PutRequestParts, putRequest } from '../approvals/put-request.ts';
import type { ReservedCounts } from '../budget/reserved-counts.ts';
import { type DetachedRun, DetachedStretch } from './detached-call.ts';
import { detachedRunId } from './detached-run-id.ts';

type Request = ApprovalRequest | WaitRequest;

/** What a detached child begins with. */
export interface DetachedInput {
  readonly input: unknown;
  readonly grant: Grant;
  /** The part of its grant that it has not used. */
  readonly reserved: ReservedCounts;
}

/** What a detached child uses of the run it belongs to. */
export interface DetachedParts extends DetachedRun, Omit<PutRequestParts, 'options'> {
  readonly id: string;
  readonly options: DetachedRun['options'] & PutRequestParts['options'];
  readonly stops: Stops;
}

/** Runs a child as a run of its own, in this or another process. Its questions are asked here, and it continues with the answers. */
export async function driveDetached(
  run: DetachedParts,
  self: Invocation,
  initial: InitialMessages,
  { input, grant, reserved }: DetachedInput,
): Promise<AgentOutcome> {
  const { parentStep } = self;
  const child = {
    run: detachedRunId(run.id, self.path),
    parent: { run: run.id, key: self.path, ...(parentStep !== undefined && { step: parentStep }) },
    agent: self.agent,
    input: asJson(input) ?? null,
    grant,
  };
  const questions = new Questions(run, self);
  const interruptions = new Interruptions();
  let answers: DetachedChild['answers'] = [];
  for (let stretch = 0; ; stretch += 1) {
    const key = `${self.path}/@apart.${stretch}`;
    const prior = { before: self.detached, reserved, interrupted: (at: DetachedOutcome) => countChild(self, at) };
    const outcome = await run.journal.child(new DetachedStretch(run, self, key, { ...child, answers }, prior));
    if (!outcome.ok) return failed(self, initial, outcome);
    countChild(self, outcome.value);
    if (outcome.value.status === 'aborted') {
      const again = await resumed(run, self, key, interruptions.pauseMs(outcome.value));
      if (again.ok) continue;
      questions.close();
      return failed(self, initial, again);
    }
    if (outcome.value.status !== 'suspended') {
      questions.close();
      return ended(self, initial, outcome.value);
    }
    const answered = await questions.ask(outcome.value.pending, stretch);
    if (!answered.ok) return failed(self, initial, answered);
    answers = answered.value;
  }
}

/**
 * Continues a child that was interrupted where it runs (a shutdown there), with the same answers, since it may not have used them.
 * Fails with the stop where one ended it.
 */
async function resumed(
  run: DetachedParts,
  self: Invocation,
  key: string,
  pauseMs: number | undefined,
): Promise<Outcome> {
  if (pauseMs !== undefined || run.stops.at(self.path) !== undefined)
    return run.journal.sleep(`${key}/@again`, self, pauseMs ?? 0);
  const message = 'it was interrupted time and again where it runs, and did not get on';
  return { ok: false, error: { kind: 'interrupted', message, retryable: false } };
}

/** Questions of a child, asked in its parent's run. Each is open there until it is answered. */
class Questions {
  readonly #run: DetachedParts;
  readonly #self: Invocation;
  readonly #open = new Map<string, { readonly id: string; readonly answer: Promise<Outcome<Decision>> }>();
  readonly #asked = new Set<string>();
  readonly #answers = new Map<string, Outcome<Decision>>();

  constructor(run: DetachedParts, self: Invocation) {
    this.#run = run;
    this.#self = self;
  }

  /** Waits for the first answer and gives all that there are; which these are depends on timing, so it is recorded. */
  async ask(pending: readonly Request[], stretch: number): Promise<Outcome<DetachedChild['answers']>> {
    for (const request of pending) if (!this.#open.has(request.id)) this.#begin(request, stretch);
    await Promise.race([...this.#open.values()].map(({ answer }) => answer));
    const key = `${this.#self.path}/@answers.${stretch}`;
    const ids = this.#run.journal.once(key, this.#self, () => [...this.#answers.keys()]);
    const answers: { id: string; decision: Decision }[] = [];
    for (const id of ids) {
      const outcome = await (this.#open.get(id)?.answer as Promise<Outcome<Decision>>);
      this.#open.delete(id);
      this.#answers.delete(id);
      if (!outcome.ok) return outcome;
      answers.push({ id, decision: outcome.value });
    }
    return { ok: true, value: answers };
  }

  #begin(request: Request, stretch: number): void {
    const { id: own } = request;
    // A question that is asked again, since the answer did not fit, has another address.
    const base = addressOf(own, this.#self);
    const id = this.#asked.has(base) ? `${base}~${stretch}` : base;
    this.#asked.add(base);
    const path = addressOf(request.path, this.#self);
    const shown: Request = { ...request, id, path, runId: this.#run.id };
    const answer = putRequest(this.#run, shown, this.#self, this.#self.step).then((outcome) => {
      this.#answers.set(own, outcome);
      return outcome;
    });
    this.#open.set(own, { id, answer });
  }

  /** Closes the questions of a child that has ended without their answers. */
  close(): void {
    for (const { id } of this.#open.values())
      this.#run.waits.decide(id, { decision: 'deny', reason: 'its worker has ended' });
  }
}

/** The tree of a child, with the addresses that its parent's run has for it. */
function withPaths(node: TreeNode, self: Invocation): TreeNode {
  const path = addressOf(node.path, self);
  return { ...node, path, children: node.children.map((child) => withPaths(child, self)) };
}

function addressOf(own: string, self: Invocation): string {
  return `${self.path}${own.slice(self.agent.length)}`;
}

function countChild(self: Invocation, outcome: DetachedOutcome): void {
  self.detached = { ...outcome, tree: withPaths(outcome.tree, self) };
  self.spending = spendingOf(outcome);
  self.step = outcome.tree.step;
  self.label = joinLabels(self.label, outcome.label);
}

function ended(
  self: Invocation,
  initial: InitialMessages,
  { status, text, output, error }: DetachedOutcome,
): AgentOutcome {
  const facts = { self, text, messages: initial.brief, label: self.label };
  if (status === 'completed') return { ...facts, status, output: output as Json };
  return { ...facts, status, error: error ?? { kind: status, message: 'no cause given', retryable: false } };
}

function failed(self: Invocation, { brief }: InitialMessages, { error, stop }: Failure): AgentOutcome {
  const facts = { self, text: self.detached?.text ?? '', messages: brief, label: self.label, error };
  return { ...facts, status: stop?.status ?? statusOfFailure(error.kind) };
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** How often in a row it may be interrupted without progress: about two minutes. */
const MAX_WITHOUT_PROGRESS = 10;

/** Counts how often a detached child was interrupted where it runs (a shutdown there), and paces its restarts. */
export class Interruptions {
  #furthest = 0;
  #withoutProgress = 0;

  /** The pause before the next restart, in milliseconds: longer after each without progress. Undefined after too many. */
  pauseMs({ steps, toolCalls }: { readonly steps: number; readonly toolCalls: number }): number | undefined {
    const reached = steps + toolCalls;
    this.#withoutProgress = reached > this.#furthest ? 1 : this.#withoutProgress + 1;
    this.#furthest = Math.max(this.#furthest, reached);
    return this.#withoutProgress > MAX_WITHOUT_PROGRESS
      ? undefined
      : Math.min(FIRST_PAUSE_MS * 2 ** (this.#withoutProgress - 1), LONGEST_PAUSE_MS);
  }
}
