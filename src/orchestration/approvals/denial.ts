import type { Tool } from '../../core/contract/tool.ts';
import type { ErrorRecord } from '../../core/values/errors.ts';

/** The reason of a denial in a run that no person attends; it then names the rules that would allow the call. */
export const UNATTENDED = 'it needs an approval and nobody is there to give it';

/** A denial as the model reads it, with the lines that would allow the call, ready to paste. */
export function denial(tool: Tool, reason: string, suggest: readonly string[]): ErrorRecord {
  const lines =
    suggest.length === 0 ? '' : ` This would allow it: ${suggest.map((line) => `\`${line}\``).join(' or ')}.`;
  return { kind: 'denied', message: `${tool.name} was denied: ${reason}.${lines}`, retryable: false };
}
