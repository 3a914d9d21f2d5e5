import { deepFreeze, type Json } from '../values/json.ts';
import { issueText } from './issue-text.ts';
import { mendJson } from './mend-json.ts';
import type { JsonSchema, Schema, Validation } from './schema.ts';
import { endOfString, type StrictJson, strictJson } from './strict-json.ts';

/** An agent's output, frozen, or what to tell the model so that it can mend it. */
export type ParsedOutput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

const MAX_CANDIDATES = 32;
const MAX_OPEN = 8;

/**
 * Structured output in whatever a model wrote around it and into it: the whole text, else a fenced block, else the first
 * balanced `{…}` or `[…]` that fits the schema, each also without trailing commas, comments and the like. Where the schema
 * takes a string, text that is no JSON counts as it is. Linear in the length of the text.
 */
export function parseOutput(text: string, schema: Schema): ParsedOutput {
  let complaint: string | undefined;
  for (const candidate of candidates(text, schema.jsonSchema)) {
    const parsed = lenientJson(candidate);
    if (!parsed.ok) {
      if (parsed.kind === 'invalid_args') complaint ??= parsed.message;
      continue;
    }
    const validation = schema.validate(parsed.value);
    if (validation.ok) return accept(validation);
    complaint ??= issueText(validation.issues);
    if (candidate === text) break;
  }
  if (takesText(schema.jsonSchema)) {
    for (const plain of new Set([text, text.trim()])) {
      const validation = schema.validate(plain);
      if (validation.ok) return accept(validation);
      complaint = issueText(validation.issues);
    }
  }
  return { ok: false, message: complaint ?? noJson(text) };
}

/** As it is, else without what models write into JSON and JSON does not have. */
function lenientJson(text: string): StrictJson {
  const parsed = strictJson(text);
  if (parsed.ok || parsed.kind === 'invalid_args' || !/^\s*[[{]/.test(text)) return parsed;
  const mended = strictJson(mendJson(text));
  return mended.ok ? mended : parsed;
}

function takesText(schema: JsonSchema, depth = 0): boolean {
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches) && depth < 8) return branches.some((branch) => takesText(branch, depth + 1));
  return schema.type === undefined ? schema.$ref === undefined : [schema.type].flat().includes('string');
}

function noJson(text: string): string {
  const parsed = strictJson(text.trim());
  const place = parsed.ok ? '' : ` (${parsed.message})`;
  return `The answer holds no JSON${place}. Answer with JSON of the schema only.`;
}

function accept(validation: Extract<Validation<unknown>, { ok: true }>): ParsedOutput {
  return { ok: true, value: deepFreeze(validation.value as Json) };
}

function* candidates(text: string, schema: JsonSchema): Generator<string> {
  yield text;
  // A text that quotes JSON is a text.
  if (schema.type === 'string') return;
  yield* fenced(text);
  yield* balanced(text);
}

function* fenced(text: string): Generator<string> {
  let at = 0;
  for (let blocks = 0; blocks < MAX_CANDIDATES; blocks++) {
    const open = text.indexOf('```', at);
    if (open === -1) return;
    const start = text.indexOf('\n', open);
    const end = start === -1 ? -1 : text.indexOf('```', start);
    if (end === -1) return;
    yield text.slice(start + 1, end);
    at = end + 3;
  }
}

/** Balanced brackets in prose. A bracket that never closes costs one look at the rest, so only a few are tried. */
function* balanced(text: string): Generator<string> {
  let open = 0;
  let found = 0;
  for (let at = 0; at < text.length && open < MAX_OPEN && found < MAX_CANDIDATES; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x7b && code !== 0x5b) continue;
    const end = closeOf(text, at);
    if (end === -1) {
      open++;
      continue;
    }
    found++;
    yield text.slice(at, end + 1);
    at = end;
  }
}

function closeOf(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at;
  }
  return -1;
}
