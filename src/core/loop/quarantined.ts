import type { AgentOutcome } from '../runtime/agent-outcome.ts';

/**
 * The outcome of a quarantined agent. Its output is of a closed type, so nothing that strangers wrote is in it, and it counts as
 * trusted. It is all that leaves the agent; of an answer that does not fit only that fact leaves it.
 */
export function quarantined(outcome: AgentOutcome): AgentOutcome {
  const { self, status, output, error } = outcome;
  if (status === 'completed') {
    self.label = Object.freeze({ ...self.label, integrity: 'trusted' });
    return { ...outcome, text: JSON.stringify(output) ?? '', label: self.label };
  }
  if (error?.kind !== 'invalid_output') return { ...outcome, text: '' };
  const message = 'the answer of the quarantined worker does not have the form of its output; what it said is withheld';
  return { ...outcome, text: '', error: { ...error, message } };
}
