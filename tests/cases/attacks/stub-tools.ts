import { type Access, defineTool, type Json, type LeafTool } from 'coxswain';

const TEXT = { type: 'string' } as const;

const STUBS: {
  readonly [name: string]: { access: Access; ruleArg?: string; properties: { readonly [name: string]: object } };
} = {
  read_file: { access: 'read', ruleArg: 'path', properties: { path: TEXT } },
  write_file: { access: 'write', ruleArg: 'path', properties: { path: TEXT, content: TEXT } },
  pay: { access: 'spend', properties: { to: TEXT, amount: { type: 'number' } } },
  send_mail: { access: 'send', ruleArg: 'to', properties: { to: TEXT } },
  fetch: { access: 'send', ruleArg: 'url', properties: { url: TEXT } },
  run_preset: { access: 'execute', ruleArg: 'preset', properties: { preset: TEXT, text: TEXT, reason: TEXT } },
};

/** A call that entered a stub's code. */
export interface Handled {
  readonly tool: string;
  readonly args: unknown;
}

/** What is asked for whatever the rules say. */
interface More {
  readonly needsApproval?: (args: Json) => boolean;
}

/** The tools that every case has, and those whose names one of its lists gives. Their results are trusted; each call is noted. */
export function stubTools(handled: Handled[], named: readonly string[] = [], more: More = {}): LeafTool[] {
  const names = [...new Set([...Object.keys(STUBS), ...named])];
  return names.map((name) => stubTool(name, handled, more));
}

export function stubTool(name: string, handled: Handled[], more: More = {}): LeafTool {
  const { access, ruleArg, properties } = STUBS[name] ?? { access: 'read' as const, properties: {} };
  return defineTool({
    name,
    description: `Stands for ${name}`,
    access,
    ...(ruleArg !== undefined && { ruleArg }),
    ...more,
    result: { integrity: 'trusted' },
    input: { type: 'object', properties, additionalProperties: false } as never,
    execute(args) {
      handled.push({ tool: name, args });
      return `${name} ran`;
    },
  });
}
