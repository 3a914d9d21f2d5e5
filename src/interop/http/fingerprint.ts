import type { Agent } from '../../core/contract/agent.ts';
import { ConfigurationError, isA } from '../../core/values/errors.ts';
import { canonical, type Json, sha256 } from '../../core/values/json.ts';
import { UNTRUSTED } from '../../core/values/label.ts';
import { beginningOf } from '../../journal/beginning.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import { initialInput } from '../../orchestration/run/initial-input.ts';
import { Problem } from './problem.ts';

/**
 * A hash of the agent and input of a run, which shows whether an Idempotency-Key is repeated with the same request.
 *
 * @throws Problem `invalid-input` if the agent does not take the input.
 */
export function fingerprintOf(agent: Agent, input: Json): string {
  try {
    const { brief, value } = initialInput(agent, input, UNTRUSTED);
    return fingerprint(agent.name, brief, value);
  } catch (thrown) {
    if (isA(thrown, ConfigurationError)) throw new Problem('invalid-input', thrown.message);
    throw thrown;
  }
}

/** The same of a run in a journal. */
export function storedFingerprint(stored: StoredRun): string {
  const { brief, value } = beginningOf(stored);
  return fingerprint(stored.agent, brief, value);
}

function fingerprint(agent: string, brief: unknown, value: unknown): string {
  return sha256(canonical(JSON.parse(JSON.stringify({ agent, brief, value: value ?? null }))));
}
