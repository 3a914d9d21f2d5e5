import type { Span } from '../contract/record.ts';
import type { Invocation } from './invocation.ts';

/**
 * What every record of an invocation has: its address, whose it is, the step, the attempt and the span. By default those of the
 * invocation as it is now, and the first attempt.
 */
export function envelope(
  self: Invocation,
  key: string,
  at: { readonly step?: number; readonly attempt?: number; readonly span?: Span } = {},
) {
  const { step = self.step, attempt = 1, span = self.span } = at;
  return { key, node: self, step, attempt, span };
}
