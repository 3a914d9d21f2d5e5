import type { Agent } from '../../core/contract/agent.ts';
import type { Delegate } from '../../core/contract/tool.ts';
import type { AgentOutcome } from '../../core/runtime/agent-outcome.ts';
import type { Cancellation } from '../../core/runtime/cancellation.ts';
import type { ChildCall, ChildStarter, StartedChild } from '../../core/runtime/child-starter.ts';
import { Stopped } from '../../core/runtime/guard.ts';
import { Invocation } from '../../core/runtime/invocation.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { OnceKey } from '../../core/runtime/stored-entry.ts';
import { Threads, workerId } from '../../core/runtime/threads.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { deepFreeze } from '../../core/values/json.ts';
import { joinLabels, type Label } from '../../core/values/label.ts';
import type { AgentLimits } from '../../core/values/limits.ts';
import { textOf } from '../../core/values/message.ts';
import { type Redact, redactInput } from '../../core/values/redact-message.ts';
import type { Level } from '../../security/decide.ts';
import type { Activity } from '../budget/activity.ts';
import { Admission, type AdmissionParts, loopOf } from '../budget/agent-limits.ts';
import { type DeadlineParts, deadlineOf } from '../budget/deadline.ts';
import { type GrantSource, grantFor, reservedFor } from '../budget/grant.ts';
import type { Counts } from '../budget/reserved-counts.ts';
import { WorkerSlots } from '../budget/worker-slots.ts';
import type { DetachedInput } from '../detached/drive-detached.ts';
import { type InitialInput, initialInput } from './initial-input.ts';
import { copyShared, type Shared } from './shared-store.ts';

/** What starting children uses of a run. */
export interface ChildrenParts extends AdmissionParts, GrantSource, DeadlineParts {
  readonly limits: GrantSource['limits'];
  readonly id: string;
  readonly deps: unknown;
  readonly count: Counts;
  readonly redact: Redact | undefined;
  readonly stops: Stops;
  readonly activity: Activity;
  readonly cancellation: Cancellation & DeadlineParts['cancellation'];
  readonly permissions: {
    /** Sets the permissions of a new node. */
    enter(self: Invocation, delegate: Delegate | undefined): void;
    levelsAbove(self: Invocation): readonly Level[];
  };
  readonly nodes: {
    /** Runs a node to its end, between its two records. */
    live(self: Invocation, initial: InitialInput, detached: DetachedInput | undefined): Promise<AgentOutcome>;
  };
}

/** Starts children: admits them, sets their limits, waits for a slot, runs them, and returns the slot. */
export class Children implements ChildStarter {
  readonly #run: ChildrenParts;
  readonly #admission: Admission;
  #slots: WorkerSlots | undefined;

  constructor(run: ChildrenParts) {
    this.#run = run;
    this.#admission = new Admission(run);
  }

  /** Throws a ToolError where it may not start. It may wait for its slot. */
  start(child: ChildCall): StartedChild {
    const { agent, parent } = child;
    const refused = this.#refusalOnce(child);
    if (refused !== undefined) throw new ToolError('denied', refused);
    // Before it counts: a brief that does not fit starts nothing.
    const input = redactInput(child.input, this.#run.redact);
    const initial = child.transcript === undefined ? childInput(agent, input, child.label) : NO_INPUT;
    const delegate = child.delegate?.type === 'procedure' ? child.delegate.delegate : undefined;
    const given = delegate === undefined ? undefined : textOf(initial.brief[0]?.content ?? '');
    const repeated = given === undefined ? undefined : loopOf(given, parent);
    if (repeated !== undefined) throw new ToolError('denied', repeated);
    checkAsk(child, delegate);
    const { shared, sharedLabel } = this.#sharedFor(child, delegate);
    const end = this.#run.cancellation.endsBefore(child.key);
    if (end !== undefined) throw new Stopped(end);
    const self = new Invocation({
      path: child.key,
      definition: agent,
      parent,
      parentStep: child.parentStep,
      span: { key: child.key, parent: child.parentSpan, handle: undefined },
      given,
      delegate,
      limits: this.#limitsOf(child, delegate),
      shared,
      sharedLabel,
      label: child.label,
    });
    this.#run.permissions.enter(self, delegate);
    const detached = delegate?.detached ? { input, ...this.#grant(self) } : undefined;
    if (!this.#run.journal.has(child.key)) this.#run.count.agents += 1;
    parent.children.push(self);
    const outcome = this.#drive(child, self, initial, detached);
    keepThread(child, self, outcome);
    return { self, outcome };
  }

  async #drive(
    child: ChildCall,
    self: Invocation,
    initial: InitialInput,
    detached: DetachedInput | undefined,
  ): Promise<AgentOutcome> {
    const { activity, nodes, stops } = this.#run;
    let over = () => {};
    self.ended = new Promise((resolve) => {
      over = resolve;
    });
    // A handoff waits for its transcript before it takes a slot that other calls of the turn may need.
    const complete = child.transcript === undefined ? initial : { ...initial, brief: await child.transcript };
    const owners = ownersOf(child);
    if (owners.length > 0) {
      this.#slots ??= new WorkerSlots(activity, stops);
      const from = performance.now();
      await this.#slots.take(self, owners);
      self.waitedMs = Math.round(performance.now() - from);
    }
    const deadline = deadlineOf(this.#run, self);
    if (deadline !== undefined) activity.add(deadline);
    try {
      const outcome = await nodes.live(self, complete, detached);
      child.onEnd?.(outcome.status === 'completed');
      return outcome;
    } finally {
      detached?.reserved.release();
      deadline?.clear();
      if (deadline !== undefined) activity.remove(deadline);
      this.#slots?.give(self);
      over();
    }
  }

  /** What a detached child gets, and what is reserved for it; a ToolError where nothing is left. */
  #grant(self: Invocation): Pick<DetachedInput, 'grant' | 'reserved'> {
    const grant = grantFor(this.#run, self, this.#run.permissions.levelsAbove(self));
    return { grant, reserved: reservedFor(this.#run, self, grant.limits) };
  }

  /** After a person's answer: takes slots again that were given back during the wait. */
  async retake(self: Invocation): Promise<void> {
    await this.#slots?.retake(self);
  }

  #limitsOf({ agent, parent }: ChildCall, delegate: Delegate | undefined): AgentLimits {
    if (delegate === undefined) return agent.limits;
    const narrowed = narrow(agent.limits, delegate.limits);
    return delegate.share === undefined
      ? narrowed
      : narrow(narrowed, shareOfCaps(delegate.share, this.#run.limits, parent));
  }

  /** The decision depends on the rest of the tree at that time, so it is recorded for a resume. */
  #refusalOnce(child: ChildCall): string | undefined {
    const { journal } = this.#run;
    const key: OnceKey<string> = `${child.key}/@admit`;
    const recorded = journal.recallOnce(key);
    if (recorded !== undefined) return recorded;
    if (journal.has(child.key)) return undefined;
    const refused = this.#admission.refusal(child);
    return refused === undefined ? undefined : journal.once(key, child.parent, () => refused);
  }

  #sharedFor(
    { input, key, parent, label }: ChildCall,
    delegate: Delegate | undefined,
  ): { shared: Shared; sharedLabel: Label } {
    if (delegate?.shared === undefined) return parent;
    const context = { deps: this.#run.deps, shared: parent.shared, path: key, runId: this.#run.id };
    const { shared, agent } = delegate;
    const share = () => copyShared(shared(input as never, context as never), `delegate ${agent.name}.shared`);
    return {
      shared: deepFreeze(this.#run.journal.once(`${key}/@shared`, parent, share)),
      sharedLabel: joinLabels(label, parent.sharedLabel),
    };
  }
}

const NO_INPUT: InitialInput = Object.freeze({ brief: [], value: undefined });

/** The owners of slots that the child needs: a fan-out, its supervisor. */
function ownersOf({ parent, slots }: ChildCall): readonly NonNullable<ChildCall['slots']>[] {
  const { definition } = parent;
  const concurrency = definition.type === 'model' ? definition.concurrency : undefined;
  const supervisor = concurrency === undefined ? [] : [{ of: parent, concurrency }];
  return slots === undefined ? supervisor : [slots, ...supervisor];
}

/** Refuses `ask: 'supervisor'` below a procedure, which has no model. */
function checkAsk({ agent, parent }: ChildCall, delegate: Delegate | undefined): void {
  if (delegate?.ask !== 'supervisor' || parent.definition.type === 'model') return;
  throw new ConfigurationError(
    `delegate ${agent.name}.ask`,
    `the supervisor ${parent.agent} is a procedure, which has no model to ask`,
    "Write 'person' or a function.",
  );
}

/** Keeps the transcript of a worker while its supervisor runs, where the supervisor may continue workers. */
function keepThread({ parent, delegate, thread }: ChildCall, self: Invocation, outcome: Promise<AgentOutcome>): void {
  const isThread = delegate?.type === 'procedure' && delegate.delegate?.handoff === false;
  if (!isThread || parent.definition.type !== 'model' || !parent.definition.continueWorkers) return;
  parent.threads ??= new Threads();
  parent.threads.begin(thread ?? workerId(self), delegate, outcome);
}

/** The initial input of a child. A mistake in its brief is an error result for the caller, not the end of the run. */
function childInput(agent: Agent, input: unknown, label: Label): InitialInput {
  try {
    return initialInput(agent, input, label);
  } catch (thrown) {
    throw thrown instanceof ConfigurationError
      ? new ToolError('invalid_args', `${agent.name}: ${thrown.message}`)
      : thrown;
  }
}

/** Each limit of a delegate where it is the smaller. */
export function narrow(own: AgentLimits, delegate: AgentLimits): AgentLimits {
  const limits: Record<string, number | undefined> = { ...own };
  for (const [name, limit] of Object.entries(delegate)) {
    const before = limits[name];
    if (limit !== undefined) limits[name] = before === undefined ? limit : Math.min(before, limit);
  }
  return limits;
}

/** A share of the smallest cap above: it follows from the definitions, whatever was spent until then. */
function shareOfCaps(share: number | undefined, run: AgentLimits, parent: Invocation): AgentLimits {
  if (share === undefined) return {};
  const least = (name: 'tokens' | 'costUsd') => {
    let cap = run[name];
    for (let node: Invocation | undefined = parent; node !== undefined; node = node.parent)
      cap = Math.min(cap ?? Number.POSITIVE_INFINITY, node.limits[name] ?? Number.POSITIVE_INFINITY);
    return cap !== undefined && Number.isFinite(cap) ? cap * share : undefined;
  };
  const tokens = least('tokens');
  return { tokens: tokens && Math.max(1, Math.floor(tokens)), costUsd: least('costUsd') };
}
