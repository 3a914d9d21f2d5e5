import { randomUUID } from 'node:crypto';

/** Makes ids for calls that came without one, in the form of the provider's own. */
export function callIds(prefix: string): () => string {
  return () => `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
