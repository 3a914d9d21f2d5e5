import type { ModelAgent } from '../contract/agent.ts';
import type { Tool } from '../contract/tool.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Selector, Sendable } from '../runtime/selector.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { joinLabels } from '../values/label.ts';
import { type Message, type ToolMessage, textOf, type UserMessage } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { type Redact, redactMessage } from '../values/redact-message.ts';
import type { Status } from '../values/status.ts';
import type { Compacting } from './compact.ts';
import type { Conversation } from './conversation.ts';
import type { Handoff } from './handoff.ts';
import type { Question } from './question.ts';
import type { Repeats } from './repeats.ts';

/** What a transcript is opened with: it stays the same from request to request. */
export interface TranscriptParts {
  readonly self: Invocation;
  readonly agent: ModelAgent;
  readonly messages: Message[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly repeats: Repeats;
  readonly selector: Selector;
  /** Undefined where what does not fit is dropped. */
  readonly compacting: Compacting | undefined;
  /** Undefined where the invocation begins anew and saves nothing. */
  readonly conversation: Conversation | undefined;
  readonly question: Question;
  /** Of the run: removes what the model must not see. */
  readonly redact: Redact | undefined;
}

/** The append-only transcript of one invocation that a model drives. */
export class Transcript implements TranscriptParts {
  readonly self: Invocation;
  readonly agent: ModelAgent;
  readonly messages: Message[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly repeats: Repeats;
  readonly selector: Selector;
  readonly compacting: Compacting | undefined;
  readonly conversation: Conversation | undefined;
  readonly question: Question;
  readonly redact: Redact | undefined;
  /** The worker that takes the conversation over after this turn, or has. */
  handoff: Handoff | undefined;
  /** The part of the transcript that the last request contained. */
  sent: Sendable | undefined;
  /** The newest text of the model in this invocation. */
  lastText = '';
  /** The pieces so far of an answer that was truncated at its length limit. */
  truncatedText = '';
  /** The model version that the provider reported last. */
  version: string | undefined;
  /** When the step at hand began. */
  stepSince = 0n;

  constructor(parts: TranscriptParts) {
    this.self = parts.self;
    this.agent = parts.agent;
    this.messages = parts.messages;
    this.tools = parts.tools;
    this.repeats = parts.repeats;
    this.selector = parts.selector;
    this.compacting = parts.compacting;
    this.conversation = parts.conversation;
    this.question = parts.question;
    this.redact = parts.redact;
  }

  /** Gives the message as it is in the transcript. */
  append(given: UserMessage | ToolMessage): Message {
    const message = redactMessage(given, this.redact);
    this.messages.push(message);
    if (message.label !== undefined) this.self.label = joinLabels(this.self.label, message.label);
    return message;
  }

  /** Appends a message of the loop itself. */
  appendNote(content: string): void {
    this.append(note(content));
  }

  /** A turn of the model has the label of all that it was shown. It needs no redaction: the model saw no more than it may. */
  appendTurn({ content, native, by }: ModelTurn): void {
    const message = { role: 'assistant', content, label: this.self.label } as const;
    const { provider } = by ?? this.question.model;
    this.messages.push(
      Object.freeze(native === undefined ? message : { ...message, native: Object.freeze({ provider, turn: native }) }),
    );
    this.lastText = this.truncatedText + textOf(content) || this.lastText;
  }

  /** The outcome of the invocation. Nothing is appended after it. */
  close(status: Status, error: ErrorRecord | undefined, text = this.lastText, output?: unknown): AgentOutcome {
    const { self, messages, selector } = this;
    Object.freeze(messages);
    self.truncatedResults = undefined;
    if (self.parent === undefined) selector.close(messages, self.label);
    const facts = { self, status, text, messages, label: self.label };
    return error === undefined ? { ...facts, output } : { ...facts, error };
  }
}

/** The transcript of an invocation that a model drives, while it runs. */
export function transcriptOf({ transcript }: Invocation): Transcript | undefined {
  return transcript instanceof Transcript ? transcript : undefined;
}

/** A message of the loop itself to the model. */
export function note(content: string): UserMessage {
  return Object.freeze({ role: 'user', content, from: 'coxswain' });
}
