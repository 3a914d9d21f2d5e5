import type { CodeAgent } from './agent.ts';
import type { Ending } from './ending.ts';
import { AgentError, type ErrorRecord, isA, isFatal, messageOf } from './errors.ts';
import { Guard } from './guard.ts';
import type { Invocation } from './invocation.ts';
import { issueText } from './issue-text.ts';
import type { Message } from './message.ts';
import { openProcedure } from './procedure.ts';
import type { RunContext } from './run-context.ts';
import type { Status } from './status.ts';
import { stopError } from './stops.ts';

/** Runs an agent that is code. What it throws is its end: a child's status goes up, anything else counts as the driver's failure. */
export async function runCode(
  run: RunContext,
  self: Invocation,
  input: unknown,
  brief: readonly Message[],
): Promise<Ending> {
  const agent = self.definition as CodeAgent;
  const guard = new Guard(self.path, run.stops);
  const place = {
    self,
    base: self.path,
    span: self.span,
    parentStep: self.parentStep,
    step: 0,
    label: self.label,
    guard,
  };
  const flow = openProcedure(run, place);
  const end = (status: Status, more: { text?: string; output?: unknown; error?: ErrorRecord }): Ending => {
    const stop = run.stops.at(self.path);
    self.label = flow.label;
    const facts = { self, messages: brief, label: flow.label, text: more.text ?? '' };
    if (stop !== undefined && status !== 'completed') return { ...facts, status: stop.status, error: stopError(stop) };
    return { ...facts, ...more, text: facts.text, status };
  };
  try {
    const returned = await guard.over(async () => agent.run(input as never, flow as never), run.graceMs);
    const output = asJson(returned);
    if (!output.ok)
      return end('invalid_output', { error: { kind: 'invalid_output', message: output.message, retryable: false } });
    const checked = agent.output?.validate(output.value) ?? { ok: true, value: output.value };
    const text = typeof output.value === 'string' ? output.value : (JSON.stringify(output.value) ?? '');
    if (checked.ok) return end('completed', { text, output: checked.value });
    const message = issueText(checked.issues, '; ');
    return end('invalid_output', { text, error: { kind: 'invalid_output', message, retryable: false } });
  } catch (thrown) {
    if (isFatal(thrown)) throw thrown;
    if (isA(thrown, AgentError)) {
      const { status, error } = thrown.result as { status: Status; error?: ErrorRecord };
      return end(status, {
        error: { kind: error?.kind ?? status, message: thrown.message, retryable: error?.retryable ?? false },
      });
    }
    return end('model_error', { error: { kind: 'unknown', message: messageOf(thrown), retryable: false } });
  }
}

/** What it returned, detached from it: the output is data. */
function asJson(value: unknown): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    const text = JSON.stringify(value);
    return { ok: true, value: text === undefined ? undefined : JSON.parse(text) };
  } catch {
    return { ok: false, message: 'the output cannot be written as JSON (a cycle, a BigInt or a getter that throws)' };
  }
}
