import { normaliseMessage } from '../../context/normalise-input.ts';
import type { Arrival, Delivery } from '../../core/runtime/inbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { isWithin } from '../../core/runtime/stops.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { InputMessage, UserMessage } from '../../core/values/message.ts';
import { shown } from '../../core/values/options.ts';
import { timeNow } from '../../core/values/time.ts';
import type { Signal } from '../../journal/record-store.ts';
import type { Row } from '../../journal/row.ts';
import { detachedRunId } from '../detached/detached-run-id.ts';
import { find } from './child.ts';
import type { RunTree } from './run-tree.ts';

type InputUserMessage = Extract<InputMessage, { role: 'user' }>;

/** What a node is steered with: a text, content parts, or a user message with a label of its own. Trusted where it has none. */
export type SteerMessage = string | InputUserMessage['content'] | Pick<InputUserMessage, 'role' | 'content' | 'label'>;

/** What a run is told of a steer, whatever process it comes from. */
export type SteerSignal = Extract<Signal, { kind: 'steer' }>;

/** Puts a user message before a node that is under way; see `Run.steer`. Rejects where there is no such node. */
export async function steer(tree: RunTree, signal: SteerSignal): Promise<void> {
  const problem = steerProblem(tree, signal.path);
  if (problem !== undefined) throw refusal(problem);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onDelivery = (delivery: Delivery) =>
    delivery === 'lost' ? reject(refusal(`${signal.path} ended before the message reached it`)) : resolve();
  tree.inbox.put(readerOf(tree.root, signal.path), arrivalOf(signal), onDelivery);
  // Kept before it enters, so that it outlives the process.
  tree.options.journal?.signal(tree.id, signal).catch(reject);
  await promise;
}

/** Ids are in the order of their making. */
export function steerSignal(path: string, given: unknown): SteerSignal {
  const id = `@steer ${String(timeNow()).padStart(20, '0')} ${crypto.randomUUID().slice(0, 8)}`;
  return { kind: 'steer', id, path, message: steerMessage(given) };
}

export function arrivalOf({ id, message }: SteerSignal): Arrival {
  return { id, message };
}

/** Who reads what is for a node: where it has handed its conversation over, the worker that has it. */
export function readerOf(root: Invocation, path: string): string {
  const worker = find(root, path)?.transcript?.handoff?.worker;
  return worker === undefined ? path : readerOf(root, worker.path);
}

export function refusal(problem: string): ConfigurationError {
  return new ConfigurationError('path', problem, 'Steer a node that is under way: run.tree() shows them.');
}

function steerMessage(given: unknown): UserMessage {
  const said = isPlainObject(given) ? given : { role: 'user', content: given };
  const message = normaliseMessage(said, 'message');
  const isEmpty = typeof message.content === 'string' ? message.content.trim() === '' : message.content.length === 0;
  if (message.role !== 'user' || isEmpty) {
    const mend = 'Pass a text, content parts, or a user message { role, content, label }.';
    throw new ConfigurationError('message', isEmpty ? 'empty' : `got a message of role ${message.role}`, mend);
  }
  return Object.freeze({ ...message, from: 'operator' });
}

/** Why a node cannot be steered; undefined where it can. */
export function steerProblem(
  { id, root, history, isReplay }: Pick<RunTree, 'id' | 'root' | 'history' | 'isReplay'>,
  path: unknown,
): string | undefined {
  if (isReplay) return 'a replay takes no messages';
  if (typeof path !== 'string' || !isWithin(path, root.path)) return `${shown(path)} is not in this run`;
  const node = find(root, path);
  if (node !== undefined) {
    if (node.delegate?.detached) return detachedProblem(id, path);
    if (node.definition.type === 'code') return `${path} is the procedure ${node.agent}, which has no transcript`;
    return node.status === 'running' || node.status === 'waiting' ? undefined : `${path} has ended: ${node.status}`;
  }
  return history === undefined ? `there is no ${path} in this run` : recordedProblem(id, history.rows, path);
}

/** The same by a run's records: for a node that its process has not come to again, or that is another's. */
export function recordedProblem(run: string, rows: readonly Row[], path: string): string | undefined {
  const taker = recordedTaker(rows, path);
  if (taker !== undefined) return recordedProblem(run, rows, taker);
  const own = rows.filter(({ kind, key }) => kind === 'agent' && key === path);
  const started = own.find(({ event }) => event === 'started');
  if (started === undefined) return `there is no ${path} in this run`;
  const { type, agent, apart } = started.request as { type?: string; agent?: string; apart?: boolean };
  // An older journal says it of those alone that have begun elsewhere.
  if (apart || rows.some(({ kind, key }) => kind === 'child' && key.startsWith(`${path}/@apart.`)))
    return detachedProblem(run, path);
  if (type === 'code') return `${path} is the procedure ${agent}, which has no transcript`;
  const ended = own.find(({ event }) => event === 'done');
  const { status } = (ended?.value ?? {}) as { readonly status?: string };
  return ended === undefined ? undefined : `${path} has ended: ${status}`;
}

/** What is for a detached worker must be told to the run that it is. */
function detachedProblem(run: string, path: string): string {
  return `${path} runs detached, as run ${detachedRunId(run, path)}, which is steered by its own id`;
}

/** The worker that a node has handed its conversation over to. */
function recordedTaker(rows: readonly Row[], path: string): string | undefined {
  const isOwn = (key: string) => key.startsWith(`${path}/`) && /^\d+\/@handoff$/.test(key.slice(path.length + 1));
  const call = rows.find(({ kind, key }) => kind === 'once' && isOwn(key))?.value;
  const taker = ({ kind, key }: Row) => kind === 'agent' && key.slice(0, key.lastIndexOf('/')) === call;
  return rows.find(taker)?.key;
}
