import type { WaitRequest } from '../../core/contract/permission.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Outcome } from '../../core/runtime/journal.ts';
import type { Questions } from '../../core/runtime/run-context.ts';
import type { Schema } from '../../core/schema/schema.ts';
import { type PutRequestParts, putRequest } from '../approvals/put-request.ts';

/** Questions of procedures to a person or another process. */
export class RunQuestions implements Questions {
  readonly #run: PutRequestParts;

  constructor(run: PutRequestParts) {
    this.#run = run;
  }

  async ask(request: WaitRequest, self: Invocation, step: number, schema: Schema): Promise<Outcome> {
    this.#run.waits.expect(request.id, schema);
    const outcome = await putRequest(this.#run, request, self, step);
    if (!outcome.ok) return outcome;
    const { value } = outcome;
    if (value.decision === 'answer') return { ok: true, value: value.value };
    const reason = value.decision === 'deny' ? (value.reason ?? 'denied') : `'${value.decision}' is no answer`;
    return { ok: false, error: { kind: 'denied', message: reason, retryable: false } };
  }
}
