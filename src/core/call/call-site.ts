import type { ParentStep, Span } from '../contract/record.ts';
import type { ProcedureTool, Tool } from '../contract/tool.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Label } from '../values/label.ts';
import type { ToolOut, ToolValue } from '../values/tool-value.ts';
import type { Visible } from '../values/truncate-result.ts';
import type { Lane } from './lane.ts';
import type { ParsedCall } from './resolve-call.ts';

/** One tool call: what is called, which node calls it, and where the call is in the tree. */
export interface CallSite {
  readonly self: Invocation;
  /** The address of the call. */
  readonly key: string;
  readonly step: number;
  /** The span that encloses the call's own. */
  readonly parent: Span;
  /** The nearest model step, for what the call starts. */
  readonly parentStep: ParentStep | undefined;
  readonly parsed: ParsedCall;
  /** The join of all that led to the call. */
  readonly label: Label;
  /** For calls that are not `parallel`. */
  readonly lane: Lane;
  /** What the caller may see of a result that is truncated. */
  readonly visible?: Visible | undefined;
  /** Called when the worker of a delegate has ended, before anything else begins. */
  readonly onEnd?: ((isCompleted: boolean) => void) | undefined;
}

/** What the hooks before a call and the permission step judge. */
export type JudgedCall = Pick<CallSite, 'self' | 'key' | 'step' | 'parsed' | 'label'>;

/** A call's result: what the model sees, and for code the value or the error. */
export interface CallResult {
  readonly out: ToolOut;
  /** What equal calls give alike: the content without a worker's id. */
  readonly same?: ToolOut['content'];
  readonly value?: ToolValue;
}

export function delegateOf(tool: Tool | undefined): ProcedureTool['delegate'] {
  return tool?.type === 'procedure' ? tool.delegate : undefined;
}
