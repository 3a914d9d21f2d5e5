import { sha256 } from './json.ts';

/** The address of a call beside another of the same step: `lead/2/model` → `lead/2/@continue`, `lead/2/@repair` → `lead/2/@repair.continue`. */
export function beside(key: string, what: string): string {
  const at = key.lastIndexOf('/') + 1;
  return key.charCodeAt(at) === 64 ? `${key}.${what}` : `${key.slice(0, at)}@${what}`;
}

/** The address of the `round`th thing of its kind beside a call: `lead/2/@summary`, `lead/2/@summary.2`. */
export function besideAgain(key: string, what: string, round: number): string {
  return beside(key, round === 1 ? what : `${what}.${round}`);
}

const SUMMARY = /@(?:[^/]*\.)?summary(?:\.\d+)?$/;

/** Whether a model call writes a summary: what it says is no text of the agent's. */
export function isSummary(key: string): boolean {
  return SUMMARY.test(key);
}

/** The same on every retry and resume, new in a fork. */
export function idempotencyKey(runId: string, key: string): string {
  return sha256(`${runId}|${key}`);
}
