import { restrictionOf } from '../../core/call/tool-call.ts';
import type { ToolContext } from '../../core/contract/tool.ts';
import type { Restriction } from '../../core/runtime/call-permissions.ts';
import type { ReadVersions } from './read-versions.ts';
import type { Workspace } from './workspace.ts';

/** What the tools of one workspace share. */
export interface FileTools {
  readonly workspace: Workspace;
  readonly versions: ReadVersions;
  readonly prefix: string;
  readonly maxFileBytes: number;
  readonly maxResultChars: number;
}

/** What rules say of a file that the argument of a call covers: those on the tool, and those on reading that file alone. */
export function fileRestriction({ prefix }: FileTools, context: ToolContext): Restriction {
  return restrictionOf(context, `${prefix}read_file`) ?? (() => undefined);
}

/** Of what rules keep from a list or a search. */
export const RESTRICTED = 'left out, since rules deny or ask for reading them';

/** The argument that rules look at. */
export const PATH = { type: 'string', description: "Relative to the workspace, with '/' between names" } as const;

/** `1,234,567`, whatever the language of the system. */
export function count(value: number | bigint): string {
  return value.toLocaleString('en-US');
}

/** `1 line`, `2 lines`. */
export function plural(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? '' : 's'}`;
}
