import { defineBuiltinLeaf } from '../../core/call/define-tool.ts';
import { invocationOf } from '../../core/call/tool-call.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';
import { changeFile, tooLong } from './change-file.ts';
import type { FileContent } from './file-content.ts';
import { readText, sizeOf, writeText } from './file-text.ts';
import { count, type FileTools, fileRestriction, PATH, plural } from './file-tools.ts';
import { occurrences } from './occurrences.ts';
import { remembered } from './read-file.ts';
import { pathRefusal } from './refusal.ts';
import { readPath } from './workspace-path.ts';

interface Arguments {
  readonly path: string;
  readonly find: string;
  readonly replace: string;
  readonly all?: boolean;
}

/** `edit_file`: one text of a file replaced by another. */
export function editFile(tools: FileTools): LeafTool {
  return defineBuiltinLeaf(
    {
      name: `${tools.prefix}edit_file`,
      description:
        'Replaces a text in a file of the workspace by another. The text must stand in the file exactly once, unless all is true: ' +
        'give enough of its surroundings. A file that has changed since you read it is not written.',
      access: 'write',
      ruleArg: 'path',
      result: { integrity: 'trusted' },
      input: {
        type: 'object',
        properties: {
          path: PATH,
          find: { type: 'string', minLength: 1, description: 'The text as it stands in the file' },
          replace: { type: 'string', description: 'What stands there afterwards' },
          all: { type: 'boolean', description: 'Replace it wherever it stands; default false' },
        },
        required: ['path', 'find', 'replace'],
        additionalProperties: false,
      },
      preview: (input) => changed(input as Arguments),
      execute: (input, context: ToolContext) => edit(tools, input as Arguments, context),
    },
    remembered(tools),
  );
}

/** As a diff has it. */
function changed({ find, replace }: Arguments): string {
  const lines = (text: string, sign: string) => (text === '' ? [] : text.split('\n').map((line) => `${sign} ${line}`));
  return [...lines(find, '-'), ...lines(replace, '+')].join('\n');
}

async function edit(tools: FileTools, args: Arguments, context: ToolContext): Promise<string> {
  const { workspace, versions, maxFileBytes } = tools;
  const path = readPath(args.path);
  const name = path.names.join('/');
  // Whether a text stands in a file is a part of its content.
  if (fileRestriction(tools, context)(name) === 'deny')
    throw new ToolError(
      'denied',
      `${JSON.stringify(short(args.path, 120))}: rules deny reading it, so it is not edited.`,
    );
  let times = 0;
  const next = (before: FileContent | undefined): Buffer => {
    const edited = replaced(before, args, maxFileBytes);
    times = edited.times;
    return edited.bytes;
  };
  const readVersion = versions.get(invocationOf(context), name);
  const { bytes, version } = await changeFile(workspace, { path, readVersion, max: maxFileBytes, next });
  return `${name}: replaced ${plural(times, 'time')}, ${count(bytes.length)} bytes, version ${version}`;
}

/** The file's encoding and its line breaks stay: a model sees and writes `\n` where the file has `\r\n`. */
function replaced(before: FileContent | undefined, args: Arguments, max: number): { bytes: Buffer; times: number } {
  const quoted = JSON.stringify(short(args.path, 120));
  if (before === undefined)
    throw pathRefusal('path_not_found', args.path, 'does not exist; write_file makes a new file.');
  const file = before.isTruncated ? undefined : readText(before.bytes, false);
  if (file === undefined) {
    const why = before.isTruncated ? 'is too long to be edited' : 'holds no text in UTF-8 or UTF-16';
    throw new ToolError('denied', `${quoted} ${why}.`);
  }
  const hasCrlf = file.text.includes('\r\n') && !/(?<!\r)\n/.test(file.text);
  const own = (text: string) => (hasCrlf ? text.replaceAll(/\r?\n/g, '\r\n') : text);
  const find = own(args.find);
  const replace = own(args.replace);
  // Both ends of a match are then ends of characters, so that sizes add up and the result is text.
  for (const [name, text] of [
    ['find', find],
    ['replace', replace],
  ] as const)
    if (!text.isWellFormed())
      throw new ToolError('invalid_args', `$.${name}: holds a lone surrogate, which is no text.`);
  let times = 0;
  for (const _ of occurrences(file.text, find)) times += 1;
  if (times === 0)
    throw new ToolError('threw', `${quoted} does not hold the text of find. Read it again and copy the text exactly.`);
  if (times > 1 && args.all !== true)
    throw new ToolError(
      'threw',
      `${quoted} holds the text of find ${times} times. Give more of what stands around it, or all: true.`,
    );
  const size = before.bytes.length + times * (sizeOf(replace, file.encoding) - sizeOf(find, file.encoding));
  if (size > max) throw tooLong(args.path, size, max);
  const text = joined(file.text, find, replace);
  return { bytes: writeText({ text, encoding: file.encoding }), times };
}

function joined(text: string, find: string, replace: string): string {
  const pieces: string[] = [];
  let from = 0;
  for (const at of occurrences(text, find)) {
    pieces.push(text.slice(from, at), replace);
    from = at + find.length;
  }
  pieces.push(text.slice(from));
  return pieces.join('');
}
