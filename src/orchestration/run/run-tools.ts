import { checkTools } from '../../agents/define-agent.ts';
import type { ModelAgent } from '../../core/contract/agent.ts';
import type { Tool } from '../../core/contract/tool.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { ToolCatalog } from '../../core/runtime/run-context.ts';
import type { Label } from '../../core/values/label.ts';
import { resultLabel } from '../../security/result-label.ts';
import { type GrantedToolsParts, grantedTools } from './granted-tools.ts';
import type { RunSources, SourcesParts } from './run-sources.ts';
import { sharedRead } from './shared-store.ts';

interface ToolsParts extends GrantedToolsParts, SourcesParts {
  readonly options: GrantedToolsParts['options'] & { readonly trust: ReadonlySet<string> };
  readonly sources: RunSources;
  readonly permissions: {
    allowed(self: Invocation, tools: readonly Tool[]): readonly Tool[];
    checkOffered(self: Invocation, tools: readonly Tool[]): void;
  };
}

/** The tools that each invocation of a run may call, and the labels of their results. */
export class RunTools implements ToolCatalog {
  readonly #run: ToolsParts;

  constructor(run: ToolsParts) {
    this.#run = run;
  }

  of(self: Invocation, own: readonly Tool[], agent: ModelAgent): readonly Tool[] {
    const { sources, permissions } = this.#run;
    const granted = grantedTools(this.#run, self, own, agent);
    const offered = sources.offeredTo(self);
    if (offered.length === 0) return permissions.allowed(self, granted);
    const all = [...granted, ...offered];
    // A server must not replace a tool of the agent, nor one that follows from a grant.
    checkTools(`agent ${agent.name}.tools`, all);
    permissions.checkOffered(self, all);
    return permissions.allowed(self, all);
  }

  askSources(self: Invocation, agent: ModelAgent): Promise<void> | undefined {
    return agent.sources.length === 0 ? undefined : this.#run.sources.ask(this.#run, self, agent.sources);
  }

  resultLabel(tool: Tool, self: Invocation): Label {
    return tool === sharedRead ? self.sharedLabel : resultLabel(tool, this.#run.options.trust);
  }
}
