import { randomUUID } from 'node:crypto';

/**
 * JSON that a provider sent. Arguments that come as an object with an integer beyond 2^53 stay text: parsing would change the number
 * unnoticed.
 *
 * @throws SyntaxError for invalid JSON
 */
export function parseEvent(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const mayHold = (text.includes('"input":') || text.includes('"arguments":')) && /\d{16}/.test(text);
  return mayHold ? exact(text) : value;
}

function exact(text: string): unknown {
  const mark = `${randomUUID()}:`;
  const marked: unknown = JSON.parse(text, (_, item: unknown, context?: { readonly source?: string }) => {
    const isRounded = typeof item === 'number' && !Number.isSafeInteger(item);
    return isRounded && /^-?\d+$/.test(context?.source ?? '') ? `${mark}${context?.source}` : item;
  });
  return unmarked(marked, mark);
}

function unmarked(value: unknown, mark: string): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? Number(value.slice(mark.length)) : value;
  if (Array.isArray(value)) return value.map((item) => unmarked(item, mark));
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).map(([name, item]) => [
    name,
    argumentsText(name, item, mark) ?? unmarked(item, mark),
  ]);
  return Object.fromEntries(fields);
}

/** The text of marked arguments, with the numbers as they were written. */
function argumentsText(name: string, item: unknown, mark: string): string | undefined {
  if ((name !== 'input' && name !== 'arguments') || item === null || typeof item !== 'object') return undefined;
  const text = JSON.stringify(item);
  return text.includes(mark) ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : undefined;
}
