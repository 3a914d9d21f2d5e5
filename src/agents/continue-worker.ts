import { agentError } from '../core/call/call-error.ts';
import { defineBuiltin } from '../core/call/define-tool.ts';
import { permitWorker } from '../core/call/permit-worker.ts';
import type { ProcedureTool, Tool } from '../core/contract/tool.ts';
import type { BuiltinProcedureContext } from '../core/runtime/builtin-context.ts';
import { Threads } from '../core/runtime/threads.ts';
import { compileSchema } from '../core/schema/compile-schema.ts';
import { ToolError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import type { Message } from '../core/values/message.ts';

const INPUT = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'As the worker’s result says' },
    message: { type: 'string', minLength: 1, description: 'What it is to do next; it remembers what it did' },
  },
  required: ['id', 'message'],
  additionalProperties: false,
} as const;

/** The tool of a supervisor that may send follow-ups to its workers. */
export const continueWorker: ProcedureTool = defineBuiltin(
  {
    name: 'continue_worker',
    description: 'Gives a worker that has ended another message: it goes on where it was, and you get its new answer.',
    input: {},
    access: 'read',
    parallel: true,
    run: (input: { readonly id: string; readonly message: string }, ctx: BuiltinProcedureContext) => goOn(input, ctx),
  },
  compileSchema(INPUT, 'continue_worker'),
  { callsDelegates: true, namesWorker: true },
);

async function goOn({ id, message }: { readonly id: string; readonly message: string }, ctx: BuiltinProcedureContext) {
  const { run, self, base, step, call } = ctx.site;
  self.threads ??= new Threads();
  const thread = self.threads.of(id);
  const { delegate } = thread;
  // Whether a background worker has ended depends on timing.
  const isRunning = run.journal.once(`${base}/@running`, self, () => thread.isRunning);
  if (isRunning) throw new ToolError('threw', `Worker ${id} is still at work: continue it when it has ended.`);
  const agent = agentOf(delegate, id);
  // One message at a time, also within a turn.
  thread.isRunning = true;
  const { outcome: before } = thread;
  const key = `${base}/${agent.name}`;
  const query = { key, step, callId: call?.callId ?? key, tool: delegate, args: { task: message }, label: ctx.label };
  const permit = await permitWorker(run, self, query);
  const { messages } = await before;
  thread.isRunning = false;
  if (!permit.ok) throw new ToolError('denied', permit.error.message);
  const next: Message = { role: 'user', content: taskOf(permit.args) ?? message, label: permit.label };
  const outcome = await ctx.invoke({ key, agent, input: [...messages, next], delegate, thread: id });
  if (outcome.status === 'completed') return outcome.output;
  throw agentError(run, outcome);
}

function agentOf(tool: Tool, id: string) {
  const delegate = tool.type === 'procedure' ? tool.delegate : undefined;
  if (delegate === undefined || delegate.agent.type === 'code' || delegate.detached) {
    const why = delegate?.detached ? 'runs detached' : 'is a procedure';
    throw new ToolError('threw', `Worker ${id} ${why}: it has no transcript to go on with. Give it a new brief.`);
  }
  return delegate.agent;
}

/** A person may have changed it. */
function taskOf(args: unknown): string | undefined {
  return isPlainObject(args) && typeof args.task === 'string' ? args.task : undefined;
}
