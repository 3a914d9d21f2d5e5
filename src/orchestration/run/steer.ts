import { normaliseMessage } from '../../context/normalise-input.ts';
import type { Arrival, Delivery, Inbox } from '../../core/runtime/inbox.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import { isWithin } from '../../core/runtime/stops.ts';
import { transcriptOf } from '../../core/turn/transcript.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { InputMessage, UserMessage } from '../../core/values/message.ts';
import { shown } from '../../core/values/options.ts';
import { timeNow } from '../../core/values/time.ts';
import type { History } from '../../journal/history.ts';
import type { TypedRow } from '../../journal/read-row.ts';
import type { RecordStore, Signal } from '../../journal/record-store.ts';
import { detachedRunId } from '../detached/detached-run-id.ts';

type InputUserMessage = Extract<InputMessage, { role: 'user' }>;

/** What a node is steered with: a text, content parts, or a user message with a label of its own. Trusted where it has none. */
export type SteerMessage = string | InputUserMessage['content'] | Pick<InputUserMessage, 'role' | 'content' | 'label'>;

/** A steer as a signal, of this or another process. */
export type SteerSignal = Extract<Signal, { kind: 'steer' }>;

/** What steering uses of a run. */
interface SteeredRun {
  readonly id: string;
  readonly root: Invocation;
  readonly history: History | undefined;
  readonly isReplay: boolean;
  readonly inbox: Inbox;
  readonly options: { readonly journal: RecordStore | undefined };
}

/** Puts a user message before a node that is under way; see `Run.steer`. Rejects where there is no such node. */
export async function steer(tree: SteeredRun, signal: SteerSignal): Promise<void> {
  const problem = steerProblem(tree, signal.path);
  if (problem !== undefined) throw refusal(problem);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onDelivery = (delivery: Delivery) =>
    delivery === 'lost' ? reject(refusal(`${signal.path} ended before the message reached it`)) : resolve();
  tree.inbox.put(readerOf(tree.root, signal.path), arrivalOf(signal), onDelivery);
  // Stored before it enters, so that it outlives the process.
  tree.options.journal?.signal(tree.id, signal).catch(reject);
  await promise;
}

/** Ids sort by the time at which they were made. */
export function steerSignal(path: string, given: unknown): SteerSignal {
  const id = `@steer ${String(timeNow()).padStart(20, '0')} ${crypto.randomUUID().slice(0, 8)}`;
  return { kind: 'steer', id, path, message: steerMessage(given) };
}

export function arrivalOf({ id, message }: SteerSignal): Arrival {
  return { id, message };
}

/** The reader of messages for a node: the worker to which it has handed its conversation over, else the node. */
export function readerOf(root: Invocation, path: string): string {
  const node = root.find(path);
  const worker = node && transcriptOf(node)?.handoff?.worker;
  return worker === undefined ? path : readerOf(root, worker.path);
}

export function refusal(problem: string): ConfigurationError {
  return new ConfigurationError('path', problem, 'Steer a node that is under way: run.tree() shows them.');
}

function steerMessage(given: unknown): UserMessage {
  const input = isPlainObject(given) ? given : { role: 'user', content: given };
  const message = normaliseMessage(input, 'message');
  const isEmpty = typeof message.content === 'string' ? message.content.trim() === '' : message.content.length === 0;
  if (message.role !== 'user' || isEmpty) {
    const mend = 'Pass a text, content parts, or a user message { role, content, label }.';
    throw new ConfigurationError('message', isEmpty ? 'empty' : `got a message of role ${message.role}`, mend);
  }
  return Object.freeze({ ...message, from: 'operator' });
}

/** Why a node cannot be steered; undefined where it can. */
export function steerProblem(
  { id, root, history, isReplay }: Omit<SteeredRun, 'inbox' | 'options'>,
  path: unknown,
): string | undefined {
  if (isReplay) return 'a replay takes no messages';
  if (typeof path !== 'string' || !isWithin(path, root.path)) return `${shown(path)} is not in this run`;
  const node = root.find(path);
  if (node !== undefined) {
    if (node.delegate?.detached) return detachedProblem(id, path);
    if (node.definition.type === 'code') return `${path} is the procedure ${node.agent}, which has no transcript`;
    return node.status === 'running' || node.status === 'waiting' ? undefined : `${path} has ended: ${node.status}`;
  }
  return history === undefined ? `there is no ${path} in this run` : recordedProblem(id, history.rows, path);
}

/** The same by the records of a run: for a node that this process has not reached, or that another process runs. */
export function recordedProblem(run: string, rows: readonly TypedRow[], path: string): string | undefined {
  const reader = recordedReader(rows, path);
  if (reader !== undefined) return recordedProblem(run, rows, reader);
  const own = rows.filter((row) => row.kind === 'agent').filter(({ key }) => key === path);
  const started = own.find((row) => row.event === 'started');
  if (started === undefined) return `there is no ${path} in this run`;
  const { type, agent, apart } = started.request;
  // An older journal has it only for children that have begun elsewhere.
  if (apart || rows.some(({ kind, key }) => kind === 'child' && key.startsWith(`${path}/@apart.`)))
    return detachedProblem(run, path);
  if (type === 'code') return `${path} is the procedure ${agent}, which has no transcript`;
  const ended = own.find((row) => row.event === 'done');
  return ended && `${path} has ended: ${ended.value.status}`;
}

/** A message for a detached worker must be sent to its own run. */
function detachedProblem(run: string, path: string): string {
  return `${path} runs detached, as run ${detachedRunId(run, path)}, which is steered by its own id`;
}

/** The worker that a node has handed its conversation over to. */
function recordedReader(rows: readonly TypedRow[], path: string): string | undefined {
  const isOwn = (key: string) => key.startsWith(`${path}/`) && /^\d+\/@handoff$/.test(key.slice(path.length + 1));
  const call = rows.find(({ kind, key }) => kind === 'once' && isOwn(key))?.value;
  const isReader = ({ kind, key }: TypedRow) => kind === 'agent' && key.slice(0, key.lastIndexOf('/')) === call;
  return rows.find(isReader)?.key;
}
