import { defineBuiltinLeaf } from '../../core/call/define-tool.ts';
import { invocationOf } from '../../core/call/tool-call.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { ToolError } from '../../core/values/errors.ts';
import { changeFile } from './change-file.ts';
import { count, type FileTools, PATH } from './file-tools.ts';
import { remembered } from './read-file.ts';
import { readPath } from './workspace-path.ts';

/** `write_file`: writes a whole file, new or instead of an old one. */
export function writeFile(tools: FileTools): LeafTool {
  return defineBuiltinLeaf(
    {
      name: `${tools.prefix}write_file`,
      description:
        'Writes a text file of the workspace as a whole, in UTF-8; what stood there is gone. Its folder must exist. ' +
        'A file that has changed since you read it is not written.',
      access: 'write',
      idempotent: true,
      ruleArg: 'path',
      // It only confirms.
      result: { integrity: 'trusted' },
      input: {
        type: 'object',
        properties: { path: PATH, content: { type: 'string', description: 'The whole text' } },
        required: ['path', 'content'],
        additionalProperties: false,
      },
      execute: (input, context: ToolContext) =>
        write(tools, input as { readonly path: string; readonly content: string }, context),
    },
    remembered(tools),
  );
}

async function write(
  { workspace, versions, maxFileBytes }: FileTools,
  args: { readonly path: string; readonly content: string },
  context: ToolContext,
): Promise<string> {
  const path = readPath(args.path);
  const name = path.names.join('/');
  if (!args.content.isWellFormed())
    throw new ToolError('invalid_args', '$.content: holds a lone surrogate, which is no text.');
  const { bytes, version, isNew } = await changeFile(workspace, {
    path,
    readVersion: versions.get(invocationOf(context), name),
    max: maxFileBytes,
    next: () => Buffer.from(args.content, 'utf8'),
  });
  return `${name}: ${isNew ? 'made' : 'written'}, ${count(bytes.length)} bytes, version ${version}`;
}
