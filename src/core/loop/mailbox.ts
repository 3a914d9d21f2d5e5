import type { BuiltinProcedureContext } from '../runtime/builtin-context.ts';
import type { Arrival } from '../runtime/inbox.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import { workerId } from '../runtime/threads.ts';
import { ToolError } from '../values/errors.ts';
import { deepFreeze, type Json } from '../values/json.ts';
import { textOf, type UserMessage } from '../values/message.ts';

export const MAX_TEXT_CHARS = 4_000;
const MAX_UNREAD = 50;
/** Of the texts that one look gives; at least one message whatever its length. */
const MAX_READ_CHARS = 6_000;

/** Whether a message was sent, and to which mailbox. It depends on which workers run, so it is recorded. */
type Sent = { readonly to: string; readonly id: string; readonly message: UserMessage } | { readonly error: string };

/** What a look into the mailbox gave, likewise. */
interface Read {
  readonly messages: readonly Arrival[];
  readonly more: number;
  readonly workers: readonly string[];
}

type SentKey = OnceKey<Sent>;
type ReadKey = OnceKey<Read>;

export function isSentKey(key: string): key is SentKey {
  return key.endsWith('/@sent');
}

export function isReadKey(key: string): key is ReadKey {
  return key.endsWith('/@read');
}

/** A worker's mailbox, among what waits in the run's inbox: nothing of it enters a transcript by itself. */
export function mailboxOf(path: string): string {
  return `${path}/@mail`;
}

/** From whom a message is follows from where it was sent, never from what a model says. */
export function sendMessage(
  { to, text }: { readonly to: string; readonly text: string },
  ctx: BuiltinProcedureContext,
): Json {
  const { run, self, base } = ctx.site;
  const key: SentKey = `${base}/@sent`;
  const sent = run.journal.once(key, self, () => deliver(to, text, ctx));
  if ('error' in sent) throw new ToolError('threw', sent.error);
  run.inbox.put(sent.to, { id: sent.id, message: deepFreeze(sent.message) });
  return { sent: true, to: shownTo(sent.to, self) };
}

function deliver(to: string, text: string, { site, label }: BuiltinProcedureContext): Sent {
  const { run, self, base } = site;
  const { parent } = self;
  const id = `@mail ${base}`;
  if (parent === undefined) return { error: 'there is nobody to write to' };
  if (to === 'supervisor') {
    const content = `Message from worker ${workerId(self)}:\n${text}`;
    return { to: parent.path, id, message: { role: 'user', content, from: self.agent, label } };
  }
  const others = othersOf(self);
  const named = others.filter((other) => workerId(other) === to || other.agent === to);
  const exact = others.find((other) => workerId(other) === to) ?? (named.length === 1 ? named[0] : undefined);
  const ids = others.map(workerId).join(', ') || '(no other worker)';
  if (exact === undefined) {
    const shown = JSON.stringify(to.slice(0, 64));
    const why =
      workerId(self) === to
        ? 'This is your own id'
        : named.length > 1
          ? `Several workers are called ${shown}`
          : `No worker ${shown} runs now`;
    return { error: `${why}. You can write to: supervisor, ${ids}.` };
  }
  const box = mailboxOf(exact.path);
  if (run.inbox.waiting(box).length >= MAX_UNREAD)
    return { error: `Worker ${workerId(exact)} has ${MAX_UNREAD} messages that it has not read. Go on without it.` };
  return { to: box, id, message: { role: 'user', content: text, from: workerId(self), label } };
}

export function readMessages(ctx: BuiltinProcedureContext): Json {
  const { run, self, base } = ctx.site;
  const key: ReadKey = `${base}/@read`;
  const read = run.journal.once(key, self, () => {
    const box = mailboxOf(self.path);
    const waiting = run.inbox.waiting(box);
    const messages = run.inbox.take(box, countOf(waiting));
    return { messages, more: waiting.length - messages.length, workers: othersOf(self).map(workerId) };
  });
  const messages = read.messages.flatMap((arrival) => {
    if (!('message' in arrival)) return [];
    const { content, from = '?', label } = arrival.message;
    if (label !== undefined) ctx.join(label);
    return [{ from, text: textOf(content) }];
  });
  return { messages, ...(read.more > 0 && { more: read.more }), workers: read.workers };
}

function countOf(waiting: readonly Arrival[]): number {
  let room = MAX_READ_CHARS;
  let count = 0;
  for (const arrival of waiting) {
    room -= 'message' in arrival ? textOf(arrival.message.content).length : 0;
    if (room < 0 && count > 0) break;
    count += 1;
  }
  return count;
}

/** Its siblings that run and have a mailbox. */
function othersOf(self: Invocation): readonly Invocation[] {
  return (self.parent?.children ?? []).filter(
    (other) => other !== self && mayWrite(other) && other.status === 'running',
  );
}

/** Whether an invocation is one of the workers that may write to each other. */
export function mayWrite({ parent, definition, delegate }: Invocation): boolean {
  if (parent?.definition.type !== 'model' || !parent.definition.mailbox) return false;
  return definition.type === 'model' && delegate?.handoff !== true && delegate?.detached !== true;
}

function shownTo(to: string, { parent }: Invocation): string {
  if (parent === undefined || to === parent.path) return 'supervisor';
  return to.slice(parent.path.length + 1).replace(/\/@mail$/, '');
}
