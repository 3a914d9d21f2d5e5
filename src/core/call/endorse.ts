import type { Endorse } from '../runtime/call-permissions.ts';
import type { CallResult, CallSite } from './call-site.ts';

/**
 * A person may review a result before the model sees it: a yes makes it trusted. The call has ended by then, so the wait holds up
 * no other call.
 */
export async function endorse(site: CallSite, result: CallResult, review: Endorse): Promise<CallResult> {
  const { key, self, step, parsed } = site;
  const { tool, args } = parsed;
  const { out, value } = result;
  // The whole, since the model may read on in it; of an error that was truncated there is none to show.
  const whole = value?.content ?? (out.cut ? undefined : out.content);
  if (tool === undefined || whole === undefined) return result;
  const label = await review({ key, self, step, tool, args, label: out.label }, whole);
  return label === out.label ? result : { ...result, out: { ...out, label } };
}
