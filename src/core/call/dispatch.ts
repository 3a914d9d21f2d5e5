import { hooksFor } from '../runtime/fire.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { hooksAfter, hooksBefore } from './call-hooks.ts';
import type { CallResult, CallSite } from './call-site.ts';
import { endorse } from './endorse.ts';
import { perform } from './perform.ts';
import { permitCall } from './permit-call.ts';
import { refuse } from './refuse.ts';

/**
 * One tool call: hooks before → permission → effect or procedure → endorsement → hooks after. Hooks and the endorsement are passed
 * over without a wait where there are none. Rejects only with infrastructure errors.
 */
export async function dispatch(run: RunContext, requested: CallSite): Promise<CallResult> {
  const before = hooksFor(run, requested.self, 'beforeTool');
  const site = before === undefined ? requested : await hooksBefore(run, requested, before, 'tool');

  // Awaited only where somebody is asked: with the same in the loop, a wait for what is there costs 2 % of a step.
  const asked = permitCall(run, site);
  const permit = asked instanceof Promise ? await asked : asked;
  const result = permit.ok ? await perform(run, site, permit) : refuse(run, site, permit);

  const review = run.permissions.endorse;
  const endorsed = review === undefined ? result : await endorse(site, result, review);

  const after = hooksFor(run, site.self, 'afterTool');
  return after === undefined ? endorsed : hooksAfter(run, site, endorsed, after);
}
