import type { CodeAgent } from '../contract/agent.ts';
import { type AgentOutcome, failedAgent } from '../runtime/agent-outcome.ts';
import { Guard } from '../runtime/guard.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { hasRunCode, wasInterrupted } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { stopError } from '../runtime/stops.ts';
import { thrownLabel } from '../runtime/thrown-label.ts';
import { issueText } from '../schema/issue-text.ts';
import { AgentError, type ErrorRecord, isA, isFatal, messageOf, ToolError } from '../values/errors.ts';
import type { Message } from '../values/message.ts';
import type { Status } from '../values/status.ts';
import { openProcedure } from './procedure.ts';

/** Runs an agent that is code. What it throws is its end: a child's status goes up, anything else counts as the driver's failure. */
export async function runCode(
  run: RunContext,
  self: Invocation,
  input: unknown,
  brief: readonly Message[],
): Promise<AgentOutcome> {
  const agent = self.definition as CodeAgent;
  const guard = new Guard(self.path, run.stops);
  const site = {
    self,
    base: self.path,
    span: self.span,
    parentStep: self.parentStep,
    step: 0,
    label: self.label,
    guard,
  };
  const ctx = openProcedure(run, site);
  const hasRun = hasRunCode(run, self.path);
  const end = (status: Status, more: { text?: string; output?: unknown; error?: ErrorRecord }): AgentOutcome => {
    const stop = run.stops.at(self.path);
    self.label = ctx.label;
    const facts = { self, messages: brief, label: ctx.label, text: more.text ?? '' };
    // One that has ended keeps to its record: the stop may have come later.
    const isInterrupted =
      stop && (wasInterrupted(run, 'agent', self.path, stop) ?? (status !== 'completed' || ctx.isInterrupted));
    if (stop && isInterrupted) return { ...facts, status: stop.status, error: stopError(stop) };
    return { ...facts, ...more, text: facts.text, status };
  };
  const outcome = await driven();
  await ctx.close();
  return outcome;

  async function driven(): Promise<AgentOutcome> {
    try {
      const returned = await guard.over(async () => agent.run(input as never, ctx as never), run.graceMs, hasRun);
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
      const message = messageOf(thrown);
      if (ctx.limited !== undefined && isA(thrown, ToolError)) return end('tool_limit', { error: ctx.limited });
      const failed = failureOf(thrown);
      ctx.join(thrownLabel(thrown, ctx.label, self.agent));
      if (failed === undefined) return end('model_error', { error: { kind: 'unknown', message, retryable: false } });
      return end(failed.status, { error: { ...failed.error, message } });
    }
  }
}

/** Of a worker that did not complete. Only a stop of the run suspends, and that is looked at by itself. */
function failureOf(thrown: unknown): ReturnType<typeof failedAgent> {
  try {
    const failed = isA(thrown, AgentError) ? failedAgent(thrown) : undefined;
    return failed?.status === 'suspended' ? undefined : failed;
  } catch {
    return undefined;
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
