import type { ModelIn } from '../../core/contract/boundary.ts';
import { canonical, type Json, sha256 } from '../../core/values/json.ts';
import { type Content, loggedMessage, requestParts } from './content.ts';
import type { LineModelIn } from './line.ts';
import type { OfferedNames } from './offered-names.ts';

const FIXED = ['model', 'instructions', 'tools', 'settings', 'toolChoice', 'output'] as const;

/** The requests of one invocation, each shown as what it adds to the one before. Holds the last one, without its messages. */
export class RequestChain {
  #hash = '';
  #whole = false;
  #before: ModelIn | undefined;

  /** The next request is written in full, since the earlier lines are in another file. The chain of hashes continues. */
  restate(): void {
    this.#whole = true;
  }

  next(request: ModelIn, content: Content, offered: OfferedNames): LineModelIn {
    // Where this process did not see the request before (a resume into another file), the whole one is new.
    const from = this.#before === undefined ? 0 : request.from;
    const added = request.messages.slice(from);
    this.#hash = sha256(`${this.#hash}|${from}|${canonical(added)}`);
    const changed = changes(this.#whole ? undefined : this.#before, request, content);
    const shown = this.#whole ? request.messages : added;
    const shownFrom = this.#whole ? 0 : from;
    this.#before = { ...request, messages: [] };
    this.#whole = false;
    const messages = shown.map((message) => loggedMessage(message, content, offered));
    return { new: messages, from: shownFrom, hash: this.#hash, ...changed };
  }
}

/** The parts of a request that differ from those of the one before. */
function changes(before: ModelIn | undefined, request: ModelIn, content: Content): Record<string, Json> {
  const parts = FIXED.filter((part) =>
    before === undefined ? request[part] !== undefined : !same(before[part], request[part]),
  );
  if (parts.length === 0) return {};
  const shown = requestParts(request, content);
  return Object.fromEntries(parts.flatMap((part) => (shown[part] === undefined ? [] : [[part, shown[part]]])));
}

/** Equal as JSON. Parts are most often the very same objects, or lists of them, which is seen without writing them out. */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, at) => item === b[at]))
    return true;
  return canonical(a) === canonical(b);
}
