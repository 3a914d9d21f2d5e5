import type { AnthropicMessage, Block } from './blocks.ts';

/** How long a prefix is kept. `false` marks nothing. */
export type CacheOption = boolean | '5m' | '1h';

type Marked = { readonly [field: string]: unknown };

/** The mark of a prompt prefix that the provider is to keep (`cache_control`); undefined where nothing is marked. */
export function cacheMark(cache: CacheOption): Marked | undefined {
  if (cache === false) return undefined;
  return cache === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' };
}

/** Marks the last entry of a list: everything before it is cached too. */
export function markLast<T extends Marked>(list: readonly T[], mark: Marked | undefined): readonly Marked[] {
  const last = list.at(-1);
  if (mark === undefined || last === undefined) return list;
  return [...list.slice(0, -1), { ...last, cache_control: mark }];
}

/**
 * Marks the end of the transcript, and where the request before ended: the provider looks back 20 blocks only, which one
 * turn with many calls exceeds. With system and tools these are the four marks that the API takes. `messages` is changed.
 */
export function markMessages(messages: AnthropicMessage[], mark: Marked | undefined): void {
  let marks = mark === undefined ? 0 : 2;
  for (let index = messages.length - 1; index >= 0 && marks > 0; index -= 1) {
    const message = messages[index];
    if (message?.role !== 'user') continue;
    messages[index] = { ...message, content: markLast<Block>(message.content, mark) };
    marks -= 1;
  }
}
