import { defineBuiltin } from '../../core/call/define-tool.ts';
import type { ProcedureTool, Tool } from '../../core/contract/tool.ts';
import type { BuiltinProcedureContext } from '../../core/runtime/builtin-context.ts';
import { compileSchema } from '../../core/schema/compile-schema.ts';
import { codePointBoundary } from '../../core/values/bound-json.ts';
import { ToolError } from '../../core/values/errors.ts';

/** The longest page, in characters; its definition is sent with every request, so it says no more than it must. */
const PAGE = 8_000;

const input = compileSchema(
  {
    type: 'object',
    properties: {
      ref: { type: 'string' },
      from: { type: 'integer' },
      length: { type: 'integer' },
    },
    required: ['ref'],
    additionalProperties: false,
  },
  'read_result',
);

/** Reads the rest of a truncated result: a tool of each agent with `readResult`. */
export const readResult: ProcedureTool = defineBuiltin(
  {
    name: 'read_result',
    description: 'Reads what was left out of a result.',
    input: {},
    access: 'read',
    maxResultChars: PAGE + 200,
    async run(args: never, ctx: BuiltinProcedureContext<never>): Promise<string> {
      const { ref, from = 0, length = PAGE } = args as { ref: string; from?: number; length?: number };
      // A later process may know less of what was received: what was read is a record.
      const page = await ctx.once('page', () => pageOf(ctx.read(ref), from, length));
      if (page.ok) return page.text;
      throw new ToolError('invalid_args', page.message);
    },
  },
  input,
  {},
);

type Page = ReturnType<BuiltinProcedureContext['read']>;

function pageOf(whole: Page, from: number, length: number): Page {
  if (!whole.ok) return whole;
  const { text } = whole;
  if (from < 0 || (from >= text.length && from > 0))
    return { ok: false, message: `$.from: the result has ${text.length} characters.` };
  const start = codePointBoundary(text, from);
  const end = codePointBoundary(text, Math.min(text.length, start + Math.min(Math.max(1, length), PAGE)));
  const more = end < text.length ? `; go on from ${end}` : '; this is the end';
  return { ok: true, text: `${text.slice(start, end)}\n[characters ${start} to ${end} of ${text.length}${more}]` };
}

const extended = new WeakMap<readonly Tool[], readonly Tool[]>();

/** The same list for the same list: it is converted once. */
export function withReadResult(tools: readonly Tool[]): readonly Tool[] {
  let list = extended.get(tools);
  if (list === undefined) {
    list = [...tools, readResult];
    extended.set(tools, list);
  }
  return list;
}
