import { defineBuiltinLeaf } from '../../core/call/define-tool.ts';
import type { LeafTool, Remember } from '../../core/contract/tool.ts';
import type { Json } from '../../core/values/json.ts';
import { type FileContent, readContent } from './file-content.ts';
import { readText } from './file-text.ts';
import { count, type FileTools, PATH, plural } from './file-tools.ts';
import { readPath } from './workspace-path.ts';

const MAX_LINES = 5_000;
/** Characters for the notes before and after the text. */
const NOTES = 500;

interface Arguments {
  readonly path: string;
  readonly from?: number;
  readonly lines?: number;
}

/** `read_file`: the text of a file, from a line on, with a first line that describes it. */
export function readFile(tools: FileTools): LeafTool {
  return defineBuiltinLeaf(
    {
      name: `${tools.prefix}read_file`,
      description:
        'Reads a text file of the workspace. The first line of the result describes the file, its text follows unchanged. ' +
        'A long file comes in parts: the end of the result says where to read on.',
      access: 'read',
      ruleArg: 'path',
      maxResultChars: tools.maxResultChars,
      input: {
        type: 'object',
        properties: {
          path: PATH,
          from: { type: 'integer', minimum: 1, description: 'The first line to show; default 1' },
          lines: { type: 'integer', minimum: 1, maximum: MAX_LINES, description: 'How many lines at most' },
        },
        required: ['path'],
        additionalProperties: false,
      },
      execute: (input) => read(tools, input as Arguments),
    },
    remembered(tools),
  );
}

async function read({ workspace, maxFileBytes, maxResultChars }: FileTools, args: Arguments): Promise<string> {
  const path = readPath(args.path);
  const content = await workspace.inParent(path, async (folder, name) => {
    const file = await workspace.openFile(folder, name, args.path);
    try {
      return await readContent(file, maxFileBytes);
    } finally {
      await file.handle.close();
    }
  });
  const head = `${path.names.join('/')}: ${count(content.size)} bytes, version ${content.version}`;
  const read = readText(content.bytes, content.isTruncated);
  if (read === undefined) return `${head}, no text in UTF-8 or UTF-16: its ${count(content.size)} bytes are not shown`;
  const more = read.encoding === 'UTF-8' ? '' : `, ${read.encoding}`;
  return part(read.text, `${head}${more}`, args, content, maxResultChars - NOTES);
}

/** Whole lines from `from` on, as many as fit. */
function part(text: string, head: string, args: Arguments, content: FileContent, room: number): string {
  const lines = text === '' ? [] : text.split('\n');
  // A final line break begins no further line.
  const isEnded = lines.at(-1) === '' && lines.pop() !== undefined;
  const from = args.from ?? 1;
  const shown: string[] = [];
  let remaining = room;
  for (const line of lines.slice(from - 1, from - 1 + (args.lines ?? MAX_LINES))) {
    remaining -= line.length + 1;
    if (remaining < 0 && shown.length > 0) break;
    shown.push(
      remaining < 0
        ? `${line.slice(0, room).toWellFormed()} [… the line goes on for ${count(line.length - room)} characters …]`
        : line,
    );
    if (remaining < 0) break;
  }
  const last = from - 1 + shown.length;
  const total = content.isTruncated ? `more than ${count(lines.length)}` : count(lines.length);
  if (shown.length === 0) return `${head}, ${total} lines, none from ${count(from)} on`;
  const isComplete = from === 1 && last === lines.length;
  const range =
    isComplete && !content.isTruncated
      ? plural(lines.length, 'line')
      : `lines ${count(from)}-${count(last)} of ${total}`;
  const body = shown.join('\n') + (last === lines.length && isEnded ? '\n' : '');
  const note =
    last < lines.length
      ? `\n[… ${count(lines.length - last)} lines left out; read on with from: ${last + 1} …]`
      : content.isTruncated
        ? `\n[… the file is longer than what is read of it: its first ${count(content.bytes.length)} bytes; the rest is left out …]`
        : '';
  return `${head}, ${range}\n${body}${note}`;
}

/** The first line of a result contains the version, so that a resume restores it from the recorded result. */
export function remembered({ versions }: FileTools): Remember {
  return ({ args, value, self, step }) => {
    if (value.form !== 'text') return;
    const version = /^[^\n]*, version ([0-9a-f]{16})(?![0-9a-f])/.exec(value.content)?.[1];
    const { path } = args as { readonly path?: Json };
    if (version === undefined || typeof path !== 'string') return;
    versions.set(self, step, readPath(path).names.join('/'), version);
  };
}
