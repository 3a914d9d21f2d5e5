import type { LeafTool } from '../../core/contract/tool.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { checkOneOf, checkOptions, checkWhole, shown } from '../../core/values/options.ts';
import { editFile } from './edit-file.ts';
import type { FileTools } from './file-tools.ts';
import type { FolderAccess } from './folder.ts';
import { listFiles } from './list-files.ts';
import { readFile } from './read-file.ts';
import { ReadVersions } from './read-versions.ts';
import { searchFiles } from './search-files.ts';
import { Workspace } from './workspace.ts';
import { writeFile } from './write-file.ts';

/** What {@link workspaceTools} takes. */
export interface WorkspaceOptions {
  /** The folder. It must exist, may be reached through a link, and may not be all of the system. */
  readonly root: string;
  /** True leaves `write_file` and `edit_file` out. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Put before each name, for a second workspace: `docs_` gives `docs_read_file`. Default none. */
  readonly prefix?: string | undefined;
  /** Files with a second hard link, whose other name may be outside. Default `refuse`. */
  readonly hardLinks?: 'refuse' | 'allow' | undefined;
  /** Globs of what no tool may touch or show, in any letter case, beside version control and our own settings: `['**' + '/.env*']`. */
  readonly protect?: readonly string[] | undefined;
  /** Bytes: of a longer file only so much is read, and no longer one is written. Default 2,097,152. */
  readonly maxFileBytes?: number | undefined;
  /** Characters of a result. Default 20,000. */
  readonly maxResultChars?: number | undefined;
}

const OPTIONS = ['root', 'readOnly', 'prefix', 'hardLinks', 'protect', 'maxFileBytes', 'maxResultChars'];

/**
 * Tools for the files of one folder: `read_file`, `list_files`, `search_files` (access `read`), `write_file` and `edit_file`
 * (access `write`). Their `ruleArg` is `path`, so `allow write_file:out/**` is a rule for them. No path leads out of the folder: on Linux each name is
 * opened in the folder that was opened before it; elsewhere each is checked first, which is weaker, with one process warning. An invocation that has read a file does not write it once it has changed.
 *
 * @throws ConfigurationError that names the option.
 * @example
 * defineAgent({ name: 'editor', instructions: '…', tools: workspaceTools({ root: 'site', protect: ['drafts/**'] }) })
 */
export function workspaceTools(options: WorkspaceOptions): readonly LeafTool[] {
  checkOptions('workspaceTools', options, OPTIONS);
  return openTools(options);
}

/** Like {@link workspaceTools}; a test may choose the access to folders. */
export function openTools(options: WorkspaceOptions & { readonly access?: FolderAccess }): readonly LeafTool[] {
  const { root, readOnly, prefix = '', hardLinks, protect = [], maxFileBytes, maxResultChars, access } = options;
  checkOneOf('workspaceTools.readOnly', readOnly, [true, false]);
  checkOneOf('workspaceTools.hardLinks', hardLinks, ['refuse', 'allow']);
  checkWhole('workspaceTools.maxFileBytes', maxFileBytes, 1);
  checkWhole('workspaceTools.maxResultChars', maxResultChars, 1_000);
  if (!Array.isArray(protect) || protect.some((glob) => typeof glob !== 'string' || glob === ''))
    throw new ConfigurationError('workspaceTools.protect', `got ${shown(protect)}`, "List globs: ['drafts/**'].");
  const workspace = new Workspace({ root, field: 'workspaceTools', hardLinks, protect, access });
  if (workspace.access === 'paths') warnOnce();
  const tools: FileTools = {
    workspace,
    versions: new ReadVersions(),
    prefix,
    maxFileBytes: maxFileBytes ?? 2 * 1024 * 1024,
    maxResultChars: maxResultChars ?? 20_000,
  };
  const reading = [readFile(tools), listFiles(tools), searchFiles(tools)];
  return Object.freeze(readOnly === true ? reading : [...reading, writeFile(tools), editFile(tools)]);
}

let warned = false;

function warnOnce(): void {
  if (warned) return;
  warned = true;
  process.emitWarning(
    'workspaceTools: this system cannot open a file in a folder that is open. Paths are looked at before they are used, so a process that swaps folders meanwhile can lead them out.',
    'CoxswainWarning',
  );
}
