import { cachedPrefix } from '../../context/cached-transcript.ts';
import { normaliseInput } from '../../context/normalise-input.ts';
import { checkTranscript } from '../../context/transcript.ts';
import type { Agent } from '../../core/contract/agent.ts';
import type { InitialMessages } from '../../core/runtime/initial-messages.ts';
import { issueText } from '../../core/schema/issue-text.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { frozenCopy, isPlainObject } from '../../core/values/json.ts';
import { joinLabels, type Label, TRUSTED } from '../../core/values/label.ts';
import { type InputMessage, labelOf, type Message, type UserMessage } from '../../core/values/message.ts';
import { shown } from '../../core/values/options.ts';

/** What an invocation starts with: the messages of a model, the value of a procedure. */
export interface InitialInput extends InitialMessages {
  readonly value: unknown;
}

/**
 * A string is short for `{ task }`; a model takes text and messages also beside its own `input`, a procedure only its `input`.
 * The label is the caller's: trusted for a run's, the join of all it has seen for a parent's.
 */
export function initialInput(agent: Agent, input: unknown, label: Label): InitialInput {
  const isModel = agent.type === 'model';
  if (isModel && Array.isArray(input)) return conversation(input as readonly InputMessage[], label);
  if (isModel && typeof input === 'string') {
    if (input.trim() === '') throw new ConfigurationError('input', 'empty text', 'Say what the agent is to do.');
    return { brief: [userMessage(input, label)], value: undefined };
  }
  const given = typeof input === 'string' && !agent.ownInput ? { task: input } : input;
  const checked = agent.input.validate(given);
  if (!checked.ok) {
    const problem = issueText(checked.issues, '; ');
    const forms = isModel ? 'Pass text, messages or the input of the agent.' : 'A procedure takes its input.';
    throw new ConfigurationError('input', isPlainObject(input) ? problem : `got ${shown(input)}; ${problem}`, forms);
  }
  // A copy: the caller's object stays as it is.
  const value = frozenCopy(checked.value);
  return { brief: briefOf(agent, value, label), value };
}

/** Checked input as the message that it is for a model. */
export function briefOf(agent: Agent, value: unknown, label: Label): readonly Message[] {
  return [userMessage(agent.ownInput ? JSON.stringify(value) : briefText(value), label)];
}

function briefText(value: unknown): string {
  const { task, constraints } = value as { task: string; constraints?: string };
  return constraints === undefined || constraints === '' ? task : `${task}\n\n${constraints}`;
}

function userMessage(content: string, label: Label): UserMessage {
  return Object.freeze(label === TRUSTED ? { role: 'user', content } : { role: 'user', content, label });
}

/** Messages with which an earlier run ended are taken as they are; the rest is read, and must continue them. */
function conversation(input: readonly InputMessage[], label: Label): InitialInput {
  const cached = cachedPrefix(input);
  const first = cached?.messages[0];
  const from = cached?.messages.length ?? 0;
  const read = normaliseInput(from === 0 ? input : input.slice(from), from);
  const rest = label === TRUSTED ? read : read.map((message) => tainted(message, label));
  const problem = checkTranscript(first === undefined ? rest : [first, ...rest]);
  if (problem !== undefined) {
    const index = first === undefined ? problem.index : problem.index - 1 + from;
    throw new ConfigurationError(
      `input[${index}]`,
      problem.problem,
      'Start with a user message and answer every call once, right after it.',
    );
  }
  return { brief: cached === undefined ? rest : [...cached.messages, ...rest], value: undefined, cached };
}

/** A message of another caller has that caller's label joined, whatever label it has. */
function tainted(message: Message, label: Label): Message {
  return Object.freeze({ ...message, label: joinLabels(labelOf(message), label) });
}
