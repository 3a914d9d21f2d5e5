import type { Json } from './json.ts';
import { type Label, TRUSTED, UNTRUSTED } from './label.ts';

/** Text, or bytes of a picture or a file: as base64 text, or by URL. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image' | 'file';
      readonly mediaType: string;
      readonly data: string | { readonly url: string };
      readonly name?: string;
    };

/** `arguments` is the raw JSON text that the model wrote; it is kept as it came. */
export interface ToolCall {
  readonly type: 'tool_call';
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What a model says: text, a thought where the provider shows it, a call. */
export type AssistantPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text?: string }
  | ToolCall;

/** What a person or the caller says; an agent's brief is its first. */
export interface UserMessage {
  readonly role: 'user';
  readonly content: string | readonly Part[];
  readonly label?: Label;
  /** Who wrote it, where that is not the caller: a steer, a mailbox, a background worker. */
  readonly from?: string;
  /** True: it stays as it is, however long the transcript grows. */
  readonly pinned?: boolean;
}

/** A model's turn. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: readonly AssistantPart[];
  /** The provider's own turn, sent back to that provider unchanged. */
  readonly native?: { readonly provider: string; readonly turn: Json };
  readonly label?: Label;
}

/** The result of one call; it comes directly after the turn that asked for it. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly name: string;
  readonly content: string | readonly Part[];
  readonly isError: boolean;
  readonly label?: Label;
  /** Address of the whole text, where the content was truncated. */
  readonly ref?: string;
}

/** One message of a transcript. Frozen, and never changed once it is in one. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

type InputData = string | Uint8Array | URL | { readonly url: string | URL };

type InputPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image' | 'file';
      readonly mediaType: string;
      readonly data: InputData;
      readonly name?: string | undefined;
    };

/**
 * A message as a caller may write it: a {@link Message}, or one whose assistant content is a plain string, whose bytes are a
 * Uint8Array, whose URLs are URL objects, or that leaves out `isError` (false).
 */
export type InputMessage =
  | {
      readonly role: 'user';
      readonly content: string | readonly InputPart[];
      readonly label?: Label | undefined;
      readonly from?: string | undefined;
      readonly pinned?: boolean | undefined;
    }
  | {
      readonly role: 'assistant';
      readonly content: string | readonly AssistantPart[];
      readonly native?: { readonly provider: string; readonly turn: Json } | undefined;
      readonly label?: Label | undefined;
    }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly name: string;
      readonly content: string | readonly InputPart[];
      readonly isError?: boolean | undefined;
      readonly label?: Label | undefined;
      readonly ref?: string | undefined;
    };

/** The text of a message or turn; parts that are not text count for nothing. */
export function textOf(content: string | readonly (Part | AssistantPart)[]): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of content) if (part.type === 'text') text += part.text;
  return text;
}

export function toolCallsOf(content: readonly AssistantPart[]): ToolCall[] {
  const calls: ToolCall[] = [];
  for (const part of content) if (part.type === 'tool_call') calls.push(part);
  return calls;
}

/** The label of a message; without one of its own a user's counts as trusted, any other as untrusted. */
export function labelOf({ label, role }: Pick<Message, 'label' | 'role'>): Label {
  return label ?? (role === 'user' ? TRUSTED : UNTRUSTED);
}
