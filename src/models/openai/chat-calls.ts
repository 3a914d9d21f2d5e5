import type { ModelDelta } from '../../core/values/model.ts';
import { type BodyFields, bodyFields, textField } from '../failure/fields.ts';

/** A call as it grows. `extra` is what the provider wants back and we do not know. */
export interface GrowingCall {
  id: string | undefined;
  name: string;
  arguments: string;
  extra: { [name: string]: unknown };
  /** Where its arguments may end. */
  end: JsonEnd;
}

/**
 * Puts the fragments of streamed calls together. A call begins on a new index; on a new id where there is no index; on a
 * new id and name, or a repeated name, after complete
 * arguments. Everything else continues an open call.
 */
export class ChatCalls {
  readonly #calls: GrowingCall[] = [];
  /** The call of an index; servers use one index for several calls, one after another. */
  readonly #atIndex = new Map<number, GrowingCall>();

  get calls(): readonly GrowingCall[] {
    return this.#calls;
  }

  take(fragment: unknown, onDelta?: (delta: ModelDelta) => void): boolean {
    const fields = bodyFields(fragment);
    const piece = readPiece(fields);
    const existing = piece.index === undefined ? findCall(this.#calls, piece) : this.#atIndex.get(piece.index);
    const call = existing === undefined || beginsAnother(existing, piece) ? this.#begin(piece.index) : existing;
    const added = grow(call, piece);
    keepExtra(call.extra, fields);
    if (onDelta !== undefined && added !== undefined) {
      onDelta({ type: 'tool_call', index: this.#calls.indexOf(call), ...added });
    }
    return added !== undefined;
  }

  #begin(index: number | undefined): GrowingCall {
    const call: GrowingCall = { id: undefined, name: '', arguments: '', extra: {}, end: new JsonEnd() };
    this.#calls.push(call);
    if (index !== undefined) this.#atIndex.set(index, call);
    return call;
  }
}

interface Piece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

function readPiece({ index, id, function: inner, name, arguments: args }: BodyFields): Piece {
  const called = bodyFields(inner);
  const given = called.arguments ?? args;
  return {
    index: indexOf(index),
    id: textField(id),
    name: textField(called.name) ?? textField(name),
    arguments: typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given),
  };
}

function indexOf(index: unknown): number | undefined {
  const given = typeof index === 'string' && /^\d+$/.test(index) ? Number(index) : index;
  return typeof given === 'number' && Number.isInteger(given) ? given : undefined;
}

/** Without an index: the call of that id, else the last one, unless id and name are new. */
function findCall(calls: readonly GrowingCall[], piece: Piece): GrowingCall | undefined {
  const same = piece.id === undefined ? undefined : calls.find((call) => call.id === piece.id);
  if (same !== undefined) return same;
  const last = calls.at(-1);
  const isNew = piece.id !== undefined && piece.name !== undefined && last?.id !== undefined;
  return isNew ? undefined : last;
}

function beginsAnother(call: GrowingCall, piece: Piece): boolean {
  if (piece.name === undefined || call.name === '') return false;
  const otherId = piece.id !== undefined && piece.id !== call.id;
  if (otherId && call.id !== undefined && piece.name !== call.name && isBlank(call)) return true;
  const fresh = piece.arguments.trimStart().startsWith('{') && piece.arguments !== call.arguments;
  // Checked last, since it reads the whole arguments so far.
  return (otherId || fresh) && isWhole(call);
}

/** What the fragment added, or undefined where it repeated what was there. */
function grow(call: GrowingCall, piece: Piece): { id?: string; name?: string; arguments?: string } | undefined {
  const added: { id?: string; name?: string; arguments?: string } = {};
  if (call.id === undefined && piece.id !== undefined) added.id = call.id = piece.id;
  // It grows until arguments come; where there is none by then, it may still come.
  if (piece.name !== undefined && piece.name !== call.name && (call.arguments === '' || call.name === '')) {
    call.name = piece.name.startsWith(call.name) ? piece.name : call.name + piece.name;
    added.name = call.name;
  }
  // Some servers begin with an empty object, whatever follows.
  if (call.arguments === '{}' && piece.arguments.trimStart().startsWith('{')) restart(call);
  // Some servers flush the whole arguments once more at the end.
  const isRepeat = piece.arguments !== '' && piece.arguments === call.arguments && isWhole(call);
  if (piece.arguments !== '' && !isRepeat) {
    call.arguments += piece.arguments;
    call.end.push(piece.arguments);
    added.arguments = piece.arguments;
  }
  return Object.keys(added).length > 0 ? added : undefined;
}

function restart(call: GrowingCall): void {
  call.arguments = '';
  call.end = new JsonEnd();
}

const KNOWN = new Set(['index', 'id', 'type', 'function', 'name', 'arguments', '__proto__']);

function keepExtra(extra: { [name: string]: unknown }, fields: BodyFields): void {
  for (const name of Object.keys(fields)) {
    if (!KNOWN.has(name) && fields[name] !== undefined && fields[name] !== null) extra[name] = fields[name];
  }
}

/** Called for many fragments of a call, so it only parses arguments that end like JSON. */
function isWhole({ arguments: text, end }: GrowingCall): boolean {
  if (!end.isClosed) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isBlank({ arguments: text }: GrowingCall): boolean {
  return text.length < 1_000 && text.trim() === '';
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** Follows a JSON text in pieces and can tell at any time whether it may be complete, without reading it again. */
class JsonEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #isClosed = false;

  /** True where the text ends with the bracket that closes its first one. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  push(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (this.#inString) this.#within(code);
      else if (code > SPACE) this.#between(code);
    }
  }

  #within(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#inString = false;
  }

  #between(code: number): void {
    this.#isClosed = false;
    if (code === QUOTE) this.#inString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if (code === 0x7d || code === 0x5d) {
      this.#depth -= 1;
      this.#isClosed = this.#depth === 0;
    }
  }
}
