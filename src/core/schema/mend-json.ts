import { endOfString } from './strict-json.ts';

/**
 * JSON text without what models write into it and JSON does not have: comments, commas before a closing bracket, Python's
 * `True`, `False` and `None`, line breaks and tabs inside of texts. It adds nothing that could have been meant otherwise: a
 * missing bracket or quote stays missing. Linear in the length of the text.
 *
 * @example mendJson('[1, True,]') // '[1, true]'
 */
export function mendJson(text: string): string {
  let mended = '';
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    let end = at + 1;
    if (code === 0x22) {
      end = Math.min(endOfString(text, at) + 1, text.length);
      mended += text.slice(at, end).replace(/[\n\r\t]/g, escaped);
    } else if (code === 0x2f && (text[at + 1] === '/' || text[at + 1] === '*')) {
      end = endOfComment(text, at);
    } else if (code === 0x2c) {
      // Kept unless nothing but blanks and comments stands between it and a closing bracket.
      if (!closesNext(text, at + 1)) mended += ',';
    } else if (isLetter(code)) {
      while (isLetter(text.charCodeAt(end))) end += 1;
      const word = text.slice(at, end);
      mended += WORDS.get(word) ?? word;
    } else mended += text[at];
    at = end;
  }
  return mended;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
]);

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

function escaped(char: string): string {
  return char === '\n' ? '\\n' : char === '\r' ? '\\r' : '\\t';
}

function endOfComment(text: string, start: number): number {
  const close = text[start + 1] === '/' ? '\n' : '*/';
  const end = text.indexOf(close, start + 2);
  if (end === -1) return text.length;
  // A line's end is no part of its comment.
  return close === '\n' ? end : end + 2;
}

function closesNext(text: string, from: number): boolean {
  let at = from;
  for (;;) {
    while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
    if (text[at] !== '/' || (text[at + 1] !== '/' && text[at + 1] !== '*')) break;
    at = endOfComment(text, at);
  }
  return text[at] === '}' || text[at] === ']';
}
