import type { Json } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import { conversationOf } from './conversation.ts';

/** Of the texts that were recalled, in characters: the newest. */
const MAX_RECALLED = 60_000;

interface Said {
  readonly messages: readonly unknown[];
  readonly label: Label;
  readonly writer: { readonly agent: string; readonly run: string };
  readonly recalled: readonly string[];
}

/** What an extraction takes, as it is kept until that is done: what its model would be shown of a transcript, and no more. */
export function leftInput({ messages, label, writer, recalled }: Said): Json {
  let room = MAX_RECALLED;
  const from = recalled.findLastIndex((text) => {
    room -= text.length;
    return room < 0;
  });
  const said = conversationOf(messages).map(({ role, tool, text }) => ({
    role,
    ...(tool === undefined ? {} : { name: tool }),
    content: text,
    label: { ...label, origins: [...label.origins] },
  }));
  return { messages: said, writer: { ...writer }, recalled: recalled.slice(from + 1) };
}
