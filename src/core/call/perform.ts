import type { LeafTool, Tool } from '../contract/tool.ts';
import { startedArguments } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Json } from '../values/json.ts';
import { callFacts } from './call-facts.ts';
import type { CallResult, CallSite } from './call-site.ts';
import { type Permitted, refuse } from './refuse.ts';
import { runProcedure } from './run-procedure.ts';
import { ToolCallEffect } from './tool-call.ts';

/** Runs a permitted call: a leaf as one effect, a procedure as calls of its own. One that is not `parallel` waits for its turn. */
export function perform(run: RunContext, site: CallSite, permit: Permitted): CallResult | Promise<CallResult> {
  const { parsed, key } = site;
  if (parsed.refused !== undefined) return refuse(run, site, { ok: false, error: parsed.refused });
  const { tool } = parsed;
  // Reading again what a person gave may give other arguments: those that the call started with hold.
  const args = startedArguments(run, key) ?? permit.args;
  return tool.parallel
    ? runTool(run, site, tool, args, permit.rule)
    : site.lane.inTurn(() => runTool(run, site, tool, args, permit.rule));
}

function runTool(run: RunContext, site: CallSite, tool: Tool, args: Json, rule: string | undefined) {
  return tool.type === 'procedure' ? runProcedure(run, site, tool, args, rule) : runLeaf(run, site, tool, args, rule);
}

/** The effect of a leaf, and its outcome as the model sees it. */
async function runLeaf(
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
