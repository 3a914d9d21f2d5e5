import type { ModelAgent } from '../contract/agent.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type { InitialMessages } from '../runtime/initial-messages.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { stopError } from '../runtime/stops.ts';
import { ConfigurationError, isA, isFatal, messageOf, ToolError } from '../values/errors.ts';

/** A function of the definition that throws ends its invocation, not the run. */
export function notOpened(run: RunContext, self: Invocation, initial: InitialMessages, thrown: unknown): AgentOutcome {
  // With tools that a server names and describes the mistake may be the server's: it must not end the whole run.
  const isOfSource = isA(thrown, ConfigurationError) && (self.definition as ModelAgent).sources.length > 0;
  if (isFatal(thrown) && !isOfSource) throw thrown;
  const stop = run.stops.at(self.path);
  const facts = { self, text: '', messages: initial.brief, label: self.label };
  if (stop !== undefined) return { ...facts, status: stop.status, error: stopError(stop) };
  // The error of a source of tools says by itself what is wrong.
  const own = isA(thrown, ToolError) || isOfSource ? { message: messageOf(thrown), code: thrown.code } : undefined;
  const message = own?.message ?? `a function of the definition threw: ${messageOf(thrown)}`;
  return { ...facts, status: 'model_error', error: { kind: 'unknown', retryable: false, ...own, message } };
}
