import { defineBuiltinLeaf } from '../../core/call/define-tool.ts';
import type { CallingNode, LeafTool } from '../../core/contract/tool.ts';
import type { Json } from '../../core/values/json.ts';
import type { TypedRow } from '../../journal/read-row.ts';
import { isPlanned, type PinnedCall } from '../../security/plan.ts';

const pinned = new WeakMap<CallingNode, PinnedCall[]>();

/**
 * `pin_plan`: calls that a model is going to make, said before it has read anything of a stranger's. Its access is `execute`, so it is judged
 * like any effect: asked for where the mode asks, and always once the context is untrusted.
 */
export const pinPlan: LeafTool = defineBuiltinLeaf(
  {
    name: 'pin_plan',
    description:
      'Pins calls that you are going to make. Do it first, before you read anything: each planned call may then be made once, as it was planned, without ' +
      'asking again. Give each argument its value; name in open those whose value you cannot know yet.',
    access: 'execute',
    result: { integrity: 'trusted' },
    input: {
      type: 'object',
      properties: {
        calls: {
          type: 'array',
          minItems: 1,
          maxItems: 50,
          items: {
            type: 'object',
            properties: {
              tool: { type: 'string', description: 'Name of the tool' },
              args: { type: 'object', description: 'Its arguments, less the open ones' },
              open: { type: 'array', items: { type: 'string' }, description: 'Arguments that are not known yet' },
            },
            required: ['tool', 'args'],
            additionalProperties: false,
          },
        },
      },
      required: ['calls'],
      additionalProperties: false,
    },
    preview: (input) =>
      callsIn(input as Json)
        .map(shownCall)
        .join('\n'),
    execute: (input) => `pinned: ${callsIn(input as Json).length}`,
  },
  ({ args, self }) => {
    const planned = pinned.get(self);
    if (planned === undefined) pinned.set(self, [...callsIn(args)]);
    else planned.push(...callsIn(args));
  },
);

function shownCall({ tool, args, open = [] }: PinnedCall): string {
  const rest = open.length === 0 ? '' : `, and anything as ${open.join(', ')}`;
  return `${tool} ${JSON.stringify(args)}${rest}`;
}

function callsIn(args: Json): readonly PinnedCall[] {
  return (args as unknown as { readonly calls: readonly PinnedCall[] }).calls;
}

/** Which planned calls were made: each may be made once, also across a resume. */
export class Plans {
  /** The call that took a planned one, by the name under which the records have that. */
  readonly #takenBy = new Map<string, string>();

  /** Takes the planned call that this one is; gives what the records call it. */
  take(self: CallingNode, key: string, tool: string, args: Json): string | undefined {
    const found = pinned.get(self)?.findIndex((planned, index) => {
      const by = this.#takenBy.get(nameOf(self, index));
      return (by === undefined || by === key) && isPlanned(planned, tool, args);
    });
    if (found === undefined || found === -1) return undefined;
    this.#takenBy.set(nameOf(self, found), key);
    return nameOf(self, found);
  }

  /** Those that earlier epochs took. */
  remember(rows: readonly TypedRow[]): void {
    for (const row of rows) {
      const rule = row.kind === 'tool' && row.event === 'started' ? row.request.trace?.rule : undefined;
      if (rule?.startsWith(PLAN)) this.#takenBy.set(rule, row.key);
    }
  }
}

const PLAN = 'plan ';

function nameOf(self: CallingNode, index: number): string {
  return `${PLAN}${self.path} ${index + 1}`;
}
