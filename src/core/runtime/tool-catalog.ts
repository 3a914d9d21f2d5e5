import type { ModelAgent } from '../contract/agent.ts';
import type { Tool } from '../contract/tool.ts';
import type { Label } from '../values/label.ts';
import type { Invocation } from './invocation.ts';

/** The tools of a run's invocations. */
export interface ToolCatalog {
  /** The agent's own tools, those that its grants and its shared store add, without those that a cap above removes. */
  of(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[];
  /** Asks the sources of an agent what they offer this invocation; undefined where it has none. `of` then has their tools. */
  askSources(self: Invocation, agent: ModelAgent): Promise<void> | undefined;
  resultLabel(tool: Tool, self: Invocation): Label;
}
