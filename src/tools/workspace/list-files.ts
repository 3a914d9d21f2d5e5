import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { defineTool } from '../../core/call/define-tool.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { hasControl } from '../../security/rule-value.ts';
import { count, type FileTools, fileRestriction, PATH, plural, RESTRICTED } from './file-tools.ts';
import type { Folder } from './folder.ts';
import type { Workspace } from './workspace.ts';
import { readPath } from './workspace-path.ts';

const MAX_ENTRIES = 500;

/** `list_files`: the entries of one folder, one per line. */
export function listFiles(tools: FileTools): LeafTool {
  return defineTool({
    name: `${tools.prefix}list_files`,
    description:
      "Lists a folder of the workspace, a line for each entry: name/ of a folder, name (size) of a file. '.' is the workspace itself.",
    access: 'read',
    ruleArg: 'path',
    maxResultChars: tools.maxResultChars,
    input: { type: 'object', properties: { path: PATH }, required: ['path'], additionalProperties: false },
    execute: (input, context) => list(tools, (input as { readonly path: string }).path, context),
  });
}

async function list(tools: FileTools, given: string, context: ToolContext): Promise<string> {
  const { workspace } = tools;
  const path = readPath(given);
  const restriction = fileRestriction(tools, context);
  return workspace.inFolder(path, async (folder) => {
    const all = await entriesOf(workspace, folder, path.names);
    const entries = all.filter(({ name }) => restriction([...path.names, name].join('/')) === undefined);
    const shown = entries.slice(0, MAX_ENTRIES);
    const lines = await Promise.all(shown.map((entry) => described(folder, entry)));
    const remaining = entries.length - shown.length;
    if (remaining > 0) lines.push(`[… ${plural(remaining, 'further entry').replace('entrys', 'entries')} left out …]`);
    if (entries.length < all.length) lines.push(`[… ${plural(all.length - entries.length, 'name')} ${RESTRICTED} …]`);
    const name = path.names.join('/') || '.';
    return [`${name}: ${entries.length === 1 ? '1 entry' : `${count(entries.length)} entries`}`, ...lines].join('\n');
  });
}

/** The entries of an open folder by name, without what is protected. */
export async function entriesOf(
  workspace: Workspace,
  folder: Folder,
  above: readonly string[],
): Promise<readonly Dirent[]> {
  const entries = await readdir(folder.address, { withFileTypes: true });
  return entries
    .filter(({ name }) => !workspace.isProtected([...above, name]))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function described(folder: Folder, entry: Dirent): Promise<string> {
  const name = hasControl(entry.name) || !entry.name.isWellFormed() ? JSON.stringify(entry.name) : entry.name;
  if (entry.isDirectory()) return `${name}/`;
  if (entry.isSymbolicLink()) return `${name} (link, not followed)`;
  if (!entry.isFile()) return `${name} (no regular file)`;
  const size = (await lstat(folder.at(entry.name)).catch(() => undefined))?.size;
  return size === undefined ? name : `${name} (${plural(size, 'byte')})`;
}
