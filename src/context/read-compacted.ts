import type { WorkingSummary } from '../core/contract/working-summary.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { deepFreeze, isPlainObject } from '../core/values/json.ts';
import { joinLabels, type Label, TRUSTED, UNTRUSTED } from '../core/values/label.ts';
import { type InputMessage, labelOf, type Message } from '../core/values/message.ts';
import { normaliseInput } from './normalise-input.ts';
import { checkTranscript } from './transcript.ts';

/**
 * What a compactor gave, read: messages that can be sent after a user's. One that was passed on as it is keeps its label; any
 * other carries the join of all that was covered. Throws an Error that names the message and what is wrong with it: the failure
 * of one compaction, not of the run.
 */
export function readCompacted(covered: readonly Message[], given: unknown): readonly Message[] {
  const messages = read(given);
  const problem = checkTranscript([BRIEF, ...messages]);
  if (problem !== undefined) throw new Error(`input[${problem.index - 1}]: ${problem.problem}`);
  const join = joinOf(covered);
  const same = new Set(covered);
  return messages.map((message) => (same.has(message) ? message : tainted(message, join)));
}

function read(given: unknown): readonly Message[] {
  try {
    return normaliseInput(given as readonly InputMessage[]);
  } catch (thrown) {
    throw thrown instanceof ConfigurationError ? new Error(thrown.message) : thrown;
  }
}

const BRIEF: Message = Object.freeze({ role: 'user', content: '' });

function joinOf(messages: readonly Message[]): Label {
  return messages.reduce((join: Label, message) => joinLabels(join, labelOf(message)), TRUSTED);
}

function tainted(message: Message, join: Label): Message {
  return Object.freeze({ ...message, label: message.label === undefined ? join : joinLabels(join, message.label) });
}

/** Reads a stored summary, which is not trusted to be valid. Throws an Error that names the problem. */
export function readSummary(given: unknown): WorkingSummary {
  if (!isPlainObject(given)) throw new Error('the saved conversation is no object');
  const { messages, covers, hash } = given;
  if (!Number.isSafeInteger(covers) || Number(covers) < 0 || typeof hash !== 'string')
    throw new Error('the saved conversation has no covers or no hash');
  const read = readMessages(messages);
  const problem = read.length === 0 ? undefined : checkTranscript(read);
  if (problem !== undefined) throw new Error(`the saved conversation: messages[${problem.index}]: ${problem.problem}`);
  return deepFreeze({ messages: read.map(labelled), covers: Number(covers), hash });
}

function readMessages(messages: unknown): readonly Message[] {
  try {
    return normaliseInput(messages as readonly InputMessage[]);
  } catch (thrown) {
    throw thrown instanceof Error ? new Error(`the saved conversation: ${thrown.message}`) : thrown;
  }
}

function labelled(message: Message): Message {
  return message.label === undefined ? { ...message, label: UNTRUSTED } : message;
}
