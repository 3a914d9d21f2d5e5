import type { Permit } from '../runtime/call-permissions.ts';
import { wasJudged } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { JudgedCall } from './call-site.ts';

/** Whether a call may run, and with which arguments. A refused call is not judged, and a judged one is not judged again. */
export function permitCall(run: RunContext, { self, key, step, parsed, label }: JudgedCall): Permit | Promise<Permit> {
  run.journal.showAsks(key, self, step);
  if (parsed.refused !== undefined) return { ok: false, error: parsed.refused };
  const { call, tool, args } = parsed;
  if (wasJudged(run, key)) return { ok: true, args };
  return run.permissions.permit({ key, self, step, callId: call.id, tool, args, label });
}
