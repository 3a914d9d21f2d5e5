import type { WorkingSummary } from '../core/contract/working-summary.ts';
import { deepFreeze, isPlainObject } from '../core/values/json.ts';
import { UNTRUSTED } from '../core/values/label.ts';
import type { InputMessage, Message } from '../core/values/message.ts';
import { normaliseInput } from './normalise-input.ts';
import { checkTranscript } from './transcript.ts';

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
