import type { Json } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import { conversationOf } from './conversation.ts';

/** Characters of the newest recalled texts. */
const MAX_RECALLED = 60_000;

interface ExtractionSource {
  readonly messages: readonly unknown[];
  readonly label: Label;
  readonly writer: { readonly agent: string; readonly run: string };
  readonly recalled: readonly string[];
}

/** The input of an extraction in the form in which it is stored: the texts of a transcript that its model would read, and no more. */
export function pendingInput({ messages, label, writer, recalled }: ExtractionSource): Json {
  let room = MAX_RECALLED;
  const from = recalled.findLastIndex((text) => {
    room -= text.length;
    return room < 0;
  });
  const conversation = conversationOf(messages).map(({ role, tool, text }) => ({
    role,
    ...(tool === undefined ? {} : { name: tool }),
    content: text,
    label: { ...label, origins: [...label.origins] },
  }));
  return { messages: conversation, writer: { ...writer }, recalled: recalled.slice(from + 1) };
}
