import type { LeafTool } from '../contract/tool.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Json } from '../values/json.ts';
import { callFacts } from './call-facts.ts';
import type { CallResult, CallSite } from './call-site.ts';
import { ToolCallEffect } from './tool-call.ts';

/** The effect of a leaf, and its outcome as the model sees it. */
export async function runLeaf(
  run: RunContext,
  site: CallSite,
  tool: LeafTool,
  args: Json,
  rule: string | undefined,
): Promise<CallResult> {
  const { self, key, step, parsed } = site;
  const facts = callFacts(parsed, key, args, rule);
  const effect = new ToolCallEffect(run, site, { tool, in: facts, args, label: run.tools.resultLabel(tool, self) });
  const outcome = await run.journal.effect(effect);
  if (!outcome.ok) return { out: effect.out(outcome) };
  tool.remember?.({ args, value: outcome.value, self, step });
  return { out: effect.out(outcome), value: outcome.value };
}
