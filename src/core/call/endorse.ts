import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { Label } from '../values/label.ts';
import { type CallSite, type Dispatched, dispatch, type OneAtATime } from './dispatch.ts';
import type { ParsedCall } from './resolve-call.ts';

/**
 * A call whose result a person may look at before the model does: a yes makes it trusted. The call is over by then, so what waits for
 * the answer holds up no other call.
 */
export function dispatchEndorsed(
  run: RunContext,
  self: Invocation,
  at: CallSite,
  parsed: ParsedCall,
  label: Label,
  oneAtATime: OneAtATime,
): Promise<Dispatched> {
  const done = dispatch(run, self, at, parsed, label, oneAtATime);
  const { tool } = parsed;
  const { endorse } = run.permissions;
  if (tool === undefined || endorse === undefined) return done;
  return done.then(async (dispatched) => {
    const { out, value } = dispatched;
    // The whole, since the model may read on in it; of an error that was cut there is none to show.
    const whole = value?.content ?? (out.cut ? undefined : out.content);
    if (whole === undefined) return dispatched;
    const call = { key: at.key, self, step: at.step, tool, args: parsed.args, label: out.label };
    const endorsed = await endorse(call, whole);
    return endorsed === out.label ? dispatched : { ...dispatched, out: { ...out, label: endorsed } };
  });
}
