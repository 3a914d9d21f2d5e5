import type { WaitRequest } from '../contract/permission.ts';
import type { Schema } from '../schema/schema.ts';
import type { Invocation } from './invocation.ts';
import type { Outcome } from './journal.ts';

/** Asks a person or another process on behalf of code. */
export interface Questions {
  /** Waits for the answer; one that the schema refuses does not count. */
  ask(request: WaitRequest, self: Invocation, step: number, schema: Schema): Promise<Outcome>;
}
