import { defineTool } from '../core/call/define-tool.ts';
import type { ProcedureContext } from '../core/contract/procedure-context.ts';
import type { Tool } from '../core/contract/tool.ts';
import { MAX_TEXT_CHARS, readMessages, sendMessage } from '../core/loop/mailbox.ts';
import type { BuiltinProcedureContext } from '../core/runtime/builtin-context.ts';

/** What the workers of a supervisor get that lets them write to each other. */
export const mailboxTools: readonly Tool[] = [
  defineTool({
    name: 'send_message',
    description:
      "Sends a message to another worker that runs now, or to your supervisor. `to` is 'supervisor', a worker's id as " +
      'read_messages gives it, or its name where only one of that name runs.',
    access: 'read',
    input: {
      type: 'object',
      properties: {
        to: { type: 'string', minLength: 1, maxLength: 500 },
        text: { type: 'string', minLength: 1, maxLength: MAX_TEXT_CHARS },
      },
      required: ['to', 'text'],
      additionalProperties: false,
    },
    run: async (input, ctx: ProcedureContext) =>
      sendMessage(input as { readonly to: string; readonly text: string }, ctx as BuiltinProcedureContext),
  }),
  defineTool({
    name: 'read_messages',
    description:
      'Gives the messages that came for you since you last looked, and the ids of the workers that run now. It never waits.',
    access: 'read',
    input: { type: 'object', properties: {}, additionalProperties: false },
    run: async (_input, ctx: ProcedureContext) => readMessages(ctx as BuiltinProcedureContext),
  }),
];
