import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { ToolDefinition } from '../../core/values/model.ts';
import { type Redaction, redaction } from './redaction.ts';
import { redactor } from './secrets.ts';

const KNOWN_FORMS = redaction();
/** How deep a schema is looked through for marks. */
const MAX_DEPTH = 16;

/**
 * The redaction of everything that a log or a trace writes: known forms of secrets, the user's patterns, and the fields that a tool's
 * schema marks (`writeOnly: true` or `format: 'password'`), from the first request with that tool on.
 */
export class ExitRedaction {
  readonly #given: Redaction | undefined;
  readonly #marked = new Set<string>();
  #ofMarked: Redaction | undefined;

  constructor(given: Redaction | undefined) {
    this.#given = given;
  }

  /** The tools that a request shows. */
  note(tools: readonly ToolDefinition[]): void {
    const before = this.#marked.size;
    for (const { parameters } of tools) collect(parameters, this.#marked, 0);
    if (this.#marked.size > before) this.#ofMarked = redaction({ fields: [...this.#marked] });
  }

  json(value: Json): Json {
    const clean = (this.#given ?? KNOWN_FORMS).json(value);
    return this.#ofMarked?.json(clean) ?? clean;
  }

  /** JSON text, and the number of redactions in it. */
  stringify(value: unknown): { readonly text: string; readonly count: number } {
    const found = JSON.stringify(value, redactor);
    const isMore = this.#given !== undefined || this.#ofMarked !== undefined;
    const text = isMore ? JSON.stringify(this.json(JSON.parse(found) as Json)) : found;
    const after = marks(text);
    // A foreign text may contain something that looks like a placeholder.
    const before = after === 0 ? 0 : marks(JSON.stringify(value, bigint));
    return { text, count: Math.max(0, after - before) };
  }
}

function bigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** `[redacted]`, and `[phone:3fa9c2e1]`. */
function marks(text: string): number {
  return text.match(/\[redacted\]|\[[a-z][a-z0-9-]{0,31}:[0-9a-f]{8}\]/g)?.length ?? 0;
}

function collect(schema: unknown, into: Set<string>, depth: number): void {
  if (depth > MAX_DEPTH) return;
  if (Array.isArray(schema)) {
    for (const item of schema) collect(item, into, depth + 1);
    return;
  }
  if (!isPlainObject(schema)) return;
  if (isPlainObject(schema.properties))
    for (const [name, property] of Object.entries(schema.properties))
      if (isPlainObject(property) && (property.writeOnly === true || property.format === 'password')) into.add(name);
  for (const inner of Object.values(schema)) collect(inner, into, depth + 1);
}
