import type { Tool } from '../contract/tool.ts';
import type { Permit } from '../runtime/call-permissions.ts';
import { hooksFor } from '../runtime/fire.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import { hooksBefore } from './call-hooks.ts';
import type { JudgedCall } from './call-site.ts';

/** A worker that a built-in tool calls for the model. */
export interface WorkerCall {
  /** Of the invocation that begins. */
  readonly key: string;
  readonly step: number;
  readonly callId: string;
  /** Its delegate. */
  readonly tool: Tool;
  readonly args: Json;
  readonly label: Label;
}

/** May it be given this? Judged as if the model had called its delegate: by the hooks before a call, then by the permission step. */
export async function permitWorker(
  run: RunContext,
  self: Invocation,
  { key, step, callId, tool, args, label }: WorkerCall,
): Promise<Permit & { readonly label: Label }> {
  const call = { type: 'tool_call', id: callId, name: tool.name, arguments: JSON.stringify(args) } as const;
  const requested: JudgedCall = { self, key, step, parsed: { call, tool, args }, label };
  const hooks = hooksFor(run, self, 'beforeTool');
  const judged = hooks === undefined ? requested : await hooksBefore(run, requested, hooks, 'agent');
  const { parsed } = judged;
  if (parsed.refused !== undefined) return { ok: false, error: parsed.refused, label: judged.label };
  const query = { key, self, step, callId, tool, args: parsed.args, label: judged.label };
  return { ...(await run.permissions.permit(query)), label: judged.label };
}
