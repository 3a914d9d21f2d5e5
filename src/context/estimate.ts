import type { AssistantPart, Message, Part } from '../core/values/message.ts';

/** What a picture counts, in tokens: near the most that the large providers charge for one after they scaled it down. */
const IMAGE_TOKENS = 1_600;
/** What a file counts, in tokens: a PDF of about two pages. The provider's own count corrects it after the first request. */
const FILE_TOKENS = 3_000;
/** Role, separators, call ids. */
const MESSAGE_TOKENS = 4;
const CALL_TOKENS = 8;

/** Hundredths of a token per UTF-16 code unit beyond ASCII. Never above 100, which is what makes a text's length an upper bound. */
function wide(code: number): number {
  if (code < 0x0250) return 50; // accented Latin
  if (code < 0x0590) return 40; // Greek, Cyrillic, Armenian
  if (code < 0x0900) return 45; // Hebrew, Arabic
  if (code < 0x1100) return 55; // Indic scripts, Thai
  if (code >= 0x2000 && code < 0x2e80) return 80; // punctuation, arrows, symbols
  if (code >= 0xac00 && code < 0xd7b0) return 75; // Hangul
  return 90; // CJK, kana, the halves of emoji, the rest
}

/** Class of an ASCII character: 0 no letter or digit, 1 small, 2 capital, 3 digit. */
const CLASS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return /[a-z]/.test(char) ? 1 : /[A-Z]/.test(char) ? 2 : /[0-9]/.test(char) ? 3 : 0;
});
/** Hundredths of a token of an ASCII character, by its class, where it is no other. */
const OF_CLASS = [60, 22, 38, 45];
const OF_BLANK: { readonly [char: string]: number } = { ' ': 4, '\n': 40, '\t': 40 };
/** What a change between letters and digits, or from small to capital letters, adds: it is where hashes and base64 break. */
const SWITCH = 50;

/** Hundredths of a token of an ASCII character after one of a class: 128 × the class before + the code. */
const ASCII = Uint8Array.from({ length: 512 }, (_, pair) => {
  const before = pair >> 7;
  const code = pair & 127;
  const now = CLASS[code] ?? 0;
  // A capital before small letters begins a word.
  const switches = now !== before && now !== 0 && before !== 0 && !(before === 2 && now === 1);
  return (OF_BLANK[String.fromCharCode(code)] ?? OF_CLASS[now] ?? 100) + (switches ? SWITCH : 0);
});

/**
 * Tokens of a text by a character-class estimate, rounded up; at most one a UTF-16 code unit. Against o200k and cl100k: prose, code
 * and JSON within 15 %, hashes within 15 %, base64 25 % low, other scripts mostly between the two, which differ by up to three times.
 */
export function estimateTextTokens(text: string): number {
  let sum = 0;
  let before = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 128) {
      sum += ASCII[128 * before + code] ?? 100;
      before = CLASS[code] ?? 0;
    } else {
      sum += wide(code);
      before = 0;
    }
  }
  return Math.ceil(sum / 100);
}

/** Tokens of one message by a character-class estimate (chars/4 is 67 % low on Chinese and 44 % low on dense JSON). */
export function estimateTokens(message: Message): number {
  const { content } = message;
  if (typeof content === 'string') return MESSAGE_TOKENS + estimateTextTokens(content);
  let sum = MESSAGE_TOKENS;
  for (const part of content) sum += measurePart(part, estimateTextTokens);
  return sum;
}

/** At least {@link estimateTokens}, without looking at a character: a few nanoseconds a message. */
export function boundTokens(message: Message): number {
  const { content } = message;
  if (typeof content === 'string') return MESSAGE_TOKENS + content.length;
  let sum = MESSAGE_TOKENS;
  for (let index = 0; index < content.length; index++) {
    const part = content[index];
    if (part === undefined) continue;
    if (part.type === 'text') sum += part.text.length;
    else if (part.type === 'tool_call') sum += CALL_TOKENS + part.name.length + part.arguments.length;
    else sum += measurePart(part, lengthOf);
  }
  return sum;
}

function lengthOf(text: string): number {
  return text.length;
}

function measurePart(part: Part | AssistantPart, measure: (text: string) => number): number {
  switch (part.type) {
    case 'text':
      return measure(part.text);
    case 'reasoning':
      return part.text === undefined ? 0 : measure(part.text);
    case 'tool_call':
      return CALL_TOKENS + measure(part.name) + measure(part.arguments);
    case 'image':
      return IMAGE_TOKENS;
    case 'file':
      return FILE_TOKENS;
  }
}
