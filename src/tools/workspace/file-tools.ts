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
