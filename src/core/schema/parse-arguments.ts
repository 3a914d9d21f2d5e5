import { deepFreeze, type Json } from '../values/json.ts';
import { issueText, received } from './issue-text.ts';
import type { Schema } from './schema.ts';
import { strictJson } from './strict-json.ts';

/** A call's arguments, frozen, or what to tell the model. */
export type ParsedArguments =
  | { readonly ok: true; readonly value: { readonly [key: string]: Json } }
  | { readonly ok: false; readonly kind: 'invalid_json' | 'invalid_args'; readonly message: string };

/**
 * A call's raw arguments as the tool gets them: parsed strictly, validated, frozen. Blank text and `null` are `{}`. Wrappings
 * that providers leave around a whole object are taken off (a second encoding, a code fence, an end tag); nothing that is
 * broken or cut is repaired.
 *
 * ```ts
 * parseArguments('{"n": "x"}', schema); // { ok: false, kind: 'invalid_args', message: '$.n: expected number, got "x" (string)' }
 * ```
 */
export function parseArguments(raw: string, schema: Schema): ParsedArguments {
  const parsed = unwrap(raw);
  if (!parsed.ok) {
    if (parsed.kind === 'invalid_args') return parsed;
    const required = requiredText(schema);
    return { ...parsed, message: `The arguments are not valid JSON: ${parsed.message}.${required}` };
  }
  const { value } = parsed;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return {
      ok: false,
      kind: 'invalid_args',
      message: `$: expected object, got ${received(value)}.${requiredText(schema)}`,
    };
  }
  const validation = schema.validate(value);
  if (!validation.ok) return { ok: false, kind: 'invalid_args', message: issueText(validation.issues) };
  return { ok: true, value: deepFreeze(validation.value as { readonly [key: string]: Json }) };
}

function unwrap(raw: string): ReturnType<typeof strictJson> {
  const text = raw.trim();
  if (text === '' || text === 'null') return { ok: true, value: {} };
  const parsed = strictJson(raw);
  if (parsed.ok) {
    const inner = typeof parsed.value === 'string' ? parsed.value.trim() : '';
    return inner.startsWith('{') ? strictJson(inner) : parsed;
  }
  if (parsed.kind === 'invalid_args') return parsed;
  const bare = withoutWrapping(text);
  if (bare === undefined) return parsed;
  const second = strictJson(bare);
  return second.ok || second.kind === 'invalid_args' ? second : parsed;
}

/** The object inside a code fence, or before end tags such as `</tool_call>` and `<|tool_call_end|>`. */
function withoutWrapping(text: string): string | undefined {
  if (text.startsWith('```') && text.endsWith('```') && text.length > 6) {
    const start = text.indexOf('\n');
    return start === -1 ? text.slice(3, -3) : text.slice(start + 1, -3);
  }
  const tail = text.slice(-200);
  const tags = /\}\s*((?:<[/|\w]{1,2}[\w|:\u2581-]{1,40}>\s*){1,4})$/.exec(tail)?.[1];
  return tags === undefined ? undefined : text.slice(0, text.length - tags.length);
}

function requiredText(schema: Schema): string {
  const { required } = schema.jsonSchema;
  return Array.isArray(required) && required.length > 0
    ? ` Required properties: ${required.slice(0, 20).join(', ')}.`
    : '';
}
