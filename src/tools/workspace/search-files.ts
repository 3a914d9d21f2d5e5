import { setImmediate } from 'node:timers/promises';
import { defineTool } from '../../core/call/define-tool.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { readContent } from './file-content.ts';
import { readText } from './file-text.ts';
import { type FileTools, fileRestriction, plural, RESTRICTED } from './file-tools.ts';
import type { Folder } from './folder.ts';
import { type LineTest, lineTest } from './line-test.ts';
import { codeOf } from './refusal.ts';
import { filesBelow, type Passed, wantedFiles } from './walk-files.ts';
import { readPath } from './workspace-path.ts';

const MAX_HITS = 500;
const MAX_LINE = 300;
const MAX_BYTES = 256 * 1024 * 1024;
/** How long lines are looked at before others of the process have their turn, in milliseconds. */
const SLICE_MS = 10;

interface Arguments {
  readonly path: string;
  readonly text?: string;
  readonly pattern?: string;
  readonly ignoreCase?: boolean;
}

/** `search_files`: the files that match a glob, or the lines in them that contain a text. */
export function searchFiles(tools: FileTools): LeafTool {
  return defineTool({
    name: `${tools.prefix}search_files`,
    description:
      'Finds files of the workspace by a glob, and where text or pattern is given the lines in them that hold it, as path:line: text.',
    access: 'read',
    ruleArg: 'path',
    maxResultChars: tools.maxResultChars,
    input: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          description:
            "A glob such as src/**/*.ts ('*' stops at '/', '**' does not), or a file or folder; '.' is everything",
        },
        text: { type: 'string', minLength: 1, description: 'The text to look for, as it is' },
        pattern: { type: 'string', minLength: 1, description: 'Instead of text: a regular expression (RE2)' },
        ignoreCase: { type: 'boolean', description: 'Default false' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    execute: (input, context) => search(tools, input as Arguments, context),
  });
}

/** What a search has seen, and what it left out. */
interface Tally extends Passed {
  files: number;
  bytes: number;
  hits: string[];
  room: number;
  unread: number;
  /** Files that rules keep from it. */
  restricted: number;
  /** Lines that are too long for a pattern. */
  longLines: number;
}

async function search(tools: FileTools, args: Arguments, context: ToolContext): Promise<string> {
  const restriction = fileRestriction(tools, context);
  const path = readPath(args.path);
  const test = await lineTest(args);
  const tally: Tally = {
    files: 0,
    bytes: 0,
    hits: [],
    room: tools.maxResultChars - 500,
    unread: 0,
    restricted: 0,
    longLines: 0,
    deeper: 0,
    passedOver: new Set(),
  };
  const { start, wanted } = await wantedFiles(tools.workspace, path);
  const below = { ...path, names: start };
  await tools.workspace.inFolder(below, async (folder) => {
    for await (const { folder: parent, names } of filesBelow(tools.workspace, folder, start, wanted, tally)) {
      context.signal.throwIfAborted();
      if (restriction(names.join('/')) !== undefined) {
        tally.restricted += 1;
        continue;
      }
      tally.files += 1;
      if (test === undefined) tally.room -= add(tally, names.join('/'));
      else await searchFile(tools, parent, names, test, tally, context.signal);
      if (isFull(tally)) break;
    }
  });
  return report(tally, test !== undefined);
}

async function searchFile(
  { workspace, maxFileBytes }: FileTools,
  folder: Folder,
  names: readonly string[],
  test: LineTest,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const path = names.join('/');
  let text: string | undefined;
  let isTruncated = false;
  try {
    const file = await workspace.openFile(folder, names.at(-1) as string, path);
    try {
      const content = await readContent(file, maxFileBytes);
      tally.bytes += content.bytes.length;
      isTruncated = content.isTruncated;
      text = readText(content.bytes, content.isTruncated)?.text;
    } finally {
      await file.handle.close();
    }
  } catch (thrown) {
    if (codeOf(thrown) === 'EMFILE') throw thrown;
    // A file that is refused, or was deleted meanwhile, is counted as unread.
  }
  if (text === undefined || isTruncated) tally.unread += 1;
  let until = performance.now() + SLICE_MS;
  let number = 0;
  for (const line of (text ?? '').split('\n')) {
    number += 1;
    if (performance.now() > until) {
      await setImmediate();
      signal.throwIfAborted();
      until = performance.now() + SLICE_MS;
    }
    if (line.length > test.maxLine) tally.longLines += 1;
    else if (test.matches(line)) tally.room -= add(tally, `${path}:${number}: ${shortLine(line)}`);
    if (isFull(tally)) return;
  }
}

/** Returns the characters that it takes. */
function add({ hits }: Tally, line: string): number {
  hits.push(line);
  return line.length + 1;
}

function isFull({ hits, room, bytes }: Tally): boolean {
  return hits.length >= MAX_HITS || room <= 0 || bytes >= MAX_BYTES;
}

function shortLine(line: string): string {
  const plain = line.replace(/\r$/, '');
  return plain.length <= MAX_LINE ? plain : `${plain.slice(0, MAX_LINE).toWellFormed()} […]`;
}

function report(tally: Tally, isText: boolean): string {
  const { hits, files, deeper, unread, restricted, longLines, passedOver } = tally;
  const head = isText
    ? `${plural(hits.length, 'line')} in ${plural(files, 'file')} looked at`
    : plural(hits.length, 'file');
  const notes = [
    ...(isFull(tally) ? ['the search stopped here; what follows is left out: ask for less at a time'] : []),
    ...(deeper > 0 ? [`${plural(deeper, 'folder')} too deep, left out`] : []),
    ...(unread > 0
      ? [`${plural(unread, 'file')} not read, or not as a whole (no text, too long, a link or the like)`]
      : []),
    ...(longLines > 0
      ? [`${plural(longLines, 'line')} too long for a pattern, left out: look for a text in them`]
      : []),
    ...(restricted > 0 ? [`${plural(restricted, 'file')} ${RESTRICTED}`] : []),
    ...(passedOver.size > 0 ? [`passed over: ${[...passedOver].join(', ')}`] : []),
  ];
  return [head, ...hits, ...notes.map((line) => `[… ${line} …]`)].join('\n');
}
