import { ConfigurationError } from '../core/values/errors.ts';
import { deepFreeze, isPlainObject } from '../core/values/json.ts';
import type { Label } from '../core/values/label.ts';
import type { AssistantPart, InputMessage, Message, Part } from '../core/values/message.ts';
import { plainMessage } from './plain-message.ts';

type Fields = Record<string, unknown>;

const MESSAGE_FIELDS = {
  user: new Set(['role', 'content', 'label', 'from', 'pinned']),
  assistant: new Set(['role', 'content', 'native', 'label']),
  tool: new Set(['role', 'callId', 'name', 'content', 'isError', 'label', 'ref']),
};
const PART_FIELDS = {
  text: new Set(['type', 'text']),
  reasoning: new Set(['type', 'text']),
  tool_call: new Set(['type', 'id', 'name', 'arguments']),
  image: new Set(['type', 'mediaType', 'data', 'name']),
  file: new Set(['type', 'mediaType', 'data', 'name']),
};
const LABEL_FIELDS = new Set(['integrity', 'confidentiality', 'origins']);
const NATIVE_FIELDS = new Set(['provider', 'turn']);
const USER_PARTS = ['text', 'image', 'file'] as const;
const ASSISTANT_PARTS = ['text', 'reasoning', 'tool_call'] as const;

/**
 * The messages of an input as frozen {@link Message}s. A message that is frozen with its content and parts is not copied (a continued conversation); any other is copied, and the
 * caller's object stays unchanged.
 *
 * @param from the index of the first of them in the input, for errors.
 * @throws ConfigurationError that names the path (`input[3].content[0].type`) and the mend.
 */
export function normaliseInput(messages: readonly InputMessage[], from = 0): Message[] {
  const list: unknown = messages;
  if (!Array.isArray(list)) throw wrong('input', 'expected a list of messages', list, 'Pass an array of messages.');
  return list.map((message: unknown, index) => {
    if (isMessage(message)) return message;
    return normaliseMessage(message, `input[${from + index}]`);
  });
}

/** One message, frozen; `at` is its path, for errors. */
export function normaliseMessage(message: unknown, at: string): Message {
  return plainMessage(message) ?? messageOf(message, at);
}

/**
 * True for a message of an earlier result: frozen, whole, without a field too many. It builds no path, so that a long
 * conversation costs little; what it does not know, with a label or a native turn of the caller's own, is left to the full check.
 */
function isMessage(value: unknown): value is Message {
  if (!isPlainObject(value) || !Object.isFrozen(value)) return false;
  const { role, content, label, native } = value;
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') return false;
  for (const name in value) if (!MESSAGE_FIELDS[role].has(name)) return false;
  if (role === 'tool') {
    if (typeof value.callId !== 'string' || typeof value.name !== 'string' || typeof value.isError !== 'boolean')
      return false;
    if (value.ref !== undefined && typeof value.ref !== 'string') return false;
  }
  if (value.from !== undefined && typeof value.from !== 'string') return false;
  if (value.pinned !== undefined && typeof value.pinned !== 'boolean') return false;
  if (label !== undefined && !isLabel(label)) return false;
  if (native !== undefined && !isNative(native)) return false;
  if (typeof content === 'string') return role !== 'assistant';
  return (
    Array.isArray(content) && Object.isFrozen(content) && content.every(role === 'assistant' ? isAssistantPart : isText)
  );
}

function isText(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    Object.isFrozen(value) &&
    value.type === 'text' &&
    typeof value.text === 'string' &&
    has(value, 2)
  );
}

function isAssistantPart(value: unknown): boolean {
  if (isText(value)) return true;
  if (!isPlainObject(value) || !Object.isFrozen(value) || value.type !== 'tool_call' || !has(value, 4)) return false;
  return typeof value.id === 'string' && typeof value.name === 'string' && typeof value.arguments === 'string';
}

function isLabel(value: unknown): boolean {
  if (!isPlainObject(value) || !Object.isFrozen(value) || !has(value, 3)) return false;
  const { integrity, confidentiality, origins } = value;
  if (integrity !== 'trusted' && integrity !== 'untrusted') return false;
  if (confidentiality !== 'public' && confidentiality !== 'private' && confidentiality !== 'secret') return false;
  return Array.isArray(origins) && Object.isFrozen(origins) && origins.every((origin) => typeof origin === 'string');
}

function isNative(value: unknown): boolean {
  if (!isPlainObject(value) || !Object.isFrozen(value) || !has(value, 2)) return false;
  return typeof value.provider === 'string' && value.turn !== undefined && Object.isFrozen(value.turn);
}

function has(value: Fields, count: number): boolean {
  let fields = 0;
  for (const _ in value) fields++;
  return fields === count;
}

function messageOf(value: unknown, at: string): Message {
  if (!isPlainObject(value)) throw wrong(at, 'expected a message', value, "Write { role: 'user', content: '…' }.");
  const { role } = value;
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') {
    throw wrong(
      `${at}.role`,
      'unknown role',
      role,
      "Use 'user', 'assistant' or 'tool'; instructions belong to the agent.",
    );
  }
  closed(value, MESSAGE_FIELDS[role], at);
  const content = contentOf(value.content, role, `${at}.content`);
  const label = value.label === undefined ? undefined : labelOf(value.label, `${at}.label`);
  const native = value.native === undefined ? undefined : nativeOf(value.native, `${at}.native`);
  for (const name of role === 'tool' ? (['callId', 'name'] as const) : []) text(value, name, at);
  for (const name of ['from', 'ref'] as const) if (value[name] !== undefined) text(value, name, at);
  for (const name of ['isError', 'pinned'] as const) {
    if (value[name] !== undefined && typeof value[name] !== 'boolean')
      throw wrong(`${at}.${name}`, 'expected a boolean', value[name], 'Use true or false.');
  }

  const asItIs =
    Object.isFrozen(value) &&
    content === value.content &&
    label === value.label &&
    native === value.native &&
    (role !== 'tool' || value.isError !== undefined);
  // Every field is checked above, so `unknown` becomes a message here.
  if (asItIs) return value as unknown as Message;
  const copy: Fields = { ...value, content };
  if (role === 'tool') copy.isError = value.isError ?? false;
  if (label !== undefined) copy.label = label;
  if (native !== undefined) copy.native = native;
  for (const name in copy) if (copy[name] === undefined) delete copy[name];
  return Object.freeze(copy) as unknown as Message;
}

function contentOf(value: unknown, role: Message['role'], at: string): unknown {
  if (typeof value === 'string') {
    return role === 'assistant' ? Object.freeze([Object.freeze({ type: 'text', text: value })]) : value;
  }
  if (!Array.isArray(value)) throw wrong(at, 'expected a string or a list of parts', value, 'Write a string.');
  const types: readonly string[] = role === 'assistant' ? ASSISTANT_PARTS : USER_PARTS;
  let same = Object.isFrozen(value);
  const parts = value.map((part: unknown, index) => {
    const normal = partOf(part, types, `${at}[${index}]`);
    same &&= normal === part;
    return normal;
  });
  return same ? value : Object.freeze(parts);
}

function partOf(value: unknown, types: readonly string[], at: string): Part | AssistantPart {
  if (!isPlainObject(value)) throw wrong(at, 'expected a part', value, "Write { type: 'text', text: '…' }.");
  const type = value.type as keyof typeof PART_FIELDS;
  if (!types.includes(type)) throw wrong(`${at}.type`, 'unknown part', type, `Use ${quoted(types)} here.`);
  closed(value, PART_FIELDS[type], at);
  if (type === 'image' || type === 'file') return mediaOf(value, at);
  if (type === 'tool_call') for (const name of ['id', 'name', 'arguments']) text(value, name, at);
  else if (type === 'text' || value.text !== undefined) text(value, 'text', at);
  if (Object.isFrozen(value)) return value as unknown as AssistantPart;
  const copy = { ...value };
  if (copy.text === undefined) delete copy.text;
  return Object.freeze(copy) as unknown as AssistantPart;
}

function mediaOf(value: Fields, at: string): Part {
  text(value, 'mediaType', at);
  if (value.name !== undefined) text(value, 'name', at);
  const data = dataOf(value.data, `${at}.data`);
  if (Object.isFrozen(value) && data === value.data) return value as unknown as Part;
  const copy = { ...value, data };
  if (value.name === undefined) delete (copy as Fields).name;
  return Object.freeze(copy) as unknown as Part;
}

function dataOf(value: unknown, at: string): string | { readonly url: string } {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if (value instanceof URL) return Object.freeze({ url: value.href });
  if (isPlainObject(value)) {
    const { url } = value;
    if (url instanceof URL) return Object.freeze({ url: url.href });
    if (typeof url === 'string') return Object.isFrozen(value) ? (value as { url: string }) : Object.freeze({ url });
  }
  throw wrong(at, 'expected bytes', value, 'Give base64 text, a Uint8Array, a URL or { url }.');
}

function labelOf(value: unknown, at: string): Label {
  const mend = "Write { integrity: 'untrusted', confidentiality: 'private', origins: ['…'] }.";
  if (!isPlainObject(value)) throw wrong(at, 'expected a label', value, mend);
  closed(value, LABEL_FIELDS, at);
  const { integrity, confidentiality, origins } = value;
  if (integrity !== 'trusted' && integrity !== 'untrusted') {
    throw wrong(`${at}.integrity`, "expected 'trusted' or 'untrusted'", integrity, mend);
  }
  if (confidentiality !== 'public' && confidentiality !== 'private' && confidentiality !== 'secret') {
    throw wrong(`${at}.confidentiality`, "expected 'public', 'private' or 'secret'", confidentiality, mend);
  }
  if (!Array.isArray(origins) || !origins.every((origin) => typeof origin === 'string')) {
    throw wrong(`${at}.origins`, 'expected a list of strings', origins, mend);
  }
  if (Object.isFrozen(value) && Object.isFrozen(origins)) return value as unknown as Label;
  return Object.freeze({ integrity, confidentiality, origins: Object.freeze([...origins]) });
}

function nativeOf(value: unknown, at: string): unknown {
  const mend = 'Leave it as an earlier result gave it, or leave it out.';
  if (!isPlainObject(value)) throw wrong(at, 'expected { provider, turn }', value, mend);
  closed(value, NATIVE_FIELDS, at);
  text(value, 'provider', at);
  if (value.turn === undefined) throw wrong(`${at}.turn`, 'expected JSON', value.turn, mend);
  if (Object.isFrozen(value) && Object.isFrozen(value.turn)) return value;
  try {
    return deepFreeze({ provider: value.provider, turn: JSON.parse(JSON.stringify(value.turn)) });
  } catch {
    throw wrong(`${at}.turn`, 'expected JSON', value.turn, mend);
  }
}

function text(value: Fields, name: string, at: string): void {
  if (typeof value[name] !== 'string')
    throw wrong(`${at}.${name}`, 'expected a string', value[name], 'Write a string.');
}

function closed(value: Fields, fields: ReadonlySet<string>, at: string): void {
  for (const name in value) {
    if (!fields.has(name)) {
      throw new ConfigurationError(`${at}.${name}`, 'unknown field', `Known are ${[...fields].join(', ')}.`);
    }
  }
}

/** What was got is named by its type, or as a short word of code: an input's text must not get into an error. */
function wrong(field: string, problem: string, got: unknown, mend: string): ConfigurationError {
  return new ConfigurationError(field, `${problem}, got ${shown(got)}`, mend);
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w-]{0,24}$/.test(value)) return `'${value}'`;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'a text' : String(typeof value);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ');
}
