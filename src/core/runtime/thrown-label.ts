import { AgentError, isA, ToolError } from '../values/errors.ts';
import { joinLabels, type Label, UNTRUSTED } from '../values/label.ts';
import { Stopped } from './guard.ts';

/**
 * The label of the text of what code threw. What its tools and workers failed with is in the code's own label; anything else may
 * quote text without a label: the answer of a server, a page.
 */
export function thrownLabel(thrown: unknown, label: Label, origin: string): Label {
  if (isA(thrown, AgentError) || isA(thrown, ToolError) || isA(thrown, Stopped)) return label;
  return joinLabels(label, { ...UNTRUSTED, origins: [origin] });
}
