import type { Tool } from '../contract/tool.ts';
import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { Part } from '../values/message.ts';
import type { Stop } from '../values/status.ts';
import type { Invocation } from './invocation.ts';

/** One call before the permission step. */
export interface PermitQuery {
  readonly key: string;
  readonly self: Invocation;
  readonly step: number;
  readonly callId: string;
  readonly tool: Tool;
  readonly args: Json;
  /** The join of all that led to the call. */
  readonly label: Label;
}

export type Permit =
  | { readonly ok: true; readonly args: Json; readonly rule?: string | undefined }
  | { readonly ok: false; readonly error: ErrorRecord; readonly stop?: Stop | undefined };

/** Gives the label of a result after a person has reviewed it. */
export type Endorse = (call: Omit<PermitQuery, 'callId'>, content: string | readonly Part[]) => Promise<Label>;

/** Whether the permission step would deny a value, or ask for it. */
export type Restriction = (value: string) => 'deny' | 'ask' | undefined;

/** Decides which calls may run, and which results may count as trusted. */
export interface CallPermissions {
  permit(query: PermitQuery): Permit | Promise<Permit>;
  /**
   * What rules say of the values that an argument stands for, such as the files of a folder, one at a time: those on the tool, and those on
   * another tool that reads one such value. Undefined where they say nothing of any.
   */
  restriction(self: Invocation, tool: Tool, args: Json, other: string): Restriction | undefined;
  /** Undefined where results are not reviewed. */
  readonly endorse: Endorse | undefined;
}
