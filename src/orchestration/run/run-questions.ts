import type { WaitRequest } from '../../core/contract/permission.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal, Outcome } from '../../core/runtime/journal.ts';
import type { Questions } from '../../core/runtime/questions.ts';
import type { Schema } from '../../core/schema/schema.ts';
import type { Waits } from '../../journal/waits.ts';

interface QuestionParts {
  readonly waits: Waits;
  readonly journal: Journal;
  /** Takes slots again that were given back during the wait. */
  readonly children: { retake(self: Invocation): Promise<void> };
}

/** Questions of procedures to a person or another process. */
export class RunQuestions implements Questions {
  readonly #run: QuestionParts;

  constructor(run: QuestionParts) {
    this.#run = run;
  }

  async ask(key: string, self: Invocation, step: number, request: WaitRequest, schema: Schema): Promise<Outcome> {
    const { waits, journal, children } = this.#run;
    waits.expect(key, schema);
    const outcome = await journal.wait(key, self, step, request);
    await children.retake(self);
    if (!outcome.ok) return outcome;
    const { value } = outcome;
    if (value.decision === 'answer') return { ok: true, value: value.value };
    const reason = value.decision === 'deny' ? (value.reason ?? 'denied') : `'${value.decision}' is no answer`;
    return { ok: false, error: { kind: 'denied', message: reason, retryable: false } };
  }
}
