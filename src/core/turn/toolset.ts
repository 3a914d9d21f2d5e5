import type { Tool } from '../contract/tool.ts';
import { deepFreeze } from '../values/json.ts';
import type { ToolDefinition } from '../values/model.ts';

/** The tools of an invocation, by name and as a model is shown them. */
export interface Toolset {
  readonly byName: ReadonlyMap<string, Tool>;
  readonly definitions: readonly ToolDefinition[];
  /** Of the definitions as JSON, for the window's ruler. */
  readonly text: string;
}

const toolsets = new WeakMap<readonly Tool[], Toolset>();

/** Converted once per list of tools; schemas once per tool. */
export function toolset(tools: readonly Tool[]): Toolset {
  let set = toolsets.get(tools);
  if (set === undefined) {
    const definitions = deepFreeze(
      tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: tool.input.jsonSchema })),
    );
    const byName = new Map<string, Tool>();
    for (const tool of tools) for (const alias of tool.aliases) byName.set(alias, tool);
    for (const tool of tools) byName.set(tool.name, tool);
    set = { byName, definitions, text: tools.length === 0 ? '' : JSON.stringify(definitions) };
    toolsets.set(tools, set);
  }
  return set;
}
