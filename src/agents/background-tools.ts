import { defineBuiltin } from '../core/call/define-tool.ts';
import { permitWorker } from '../core/call/permit-worker.ts';
import type { ProcedureTool } from '../core/contract/tool.ts';
import { waitForWorkers } from '../core/loop/wait-for-workers.ts';
import type { BuiltinProcedureContext } from '../core/runtime/builtin-context.ts';
import { Workers } from '../core/runtime/workers.ts';
import { compileSchema } from '../core/schema/compile-schema.ts';
import type { JsonSchema, Schema, Validation } from '../core/schema/schema.ts';
import { ToolError } from '../core/values/errors.ts';
import type { Json } from '../core/values/json.ts';
import { DEFAULTS } from '../core/values/limits.ts';
import { briefSchema, type DelegateTool, type FanOutWorkers, readBrief, workerNames } from './fan-out-input.ts';

/** Three whole results of workers, or a share of it for each. */
const MAX_RESULT_CHARS = 3 * DEFAULTS.maxResultChars;
const LONGEST_WAIT_MS = 3_600_000;

const ID = { type: 'string', description: 'As start_worker gave it' } as const;

/** The tools of a supervisor with background workers. */
export function backgroundTools(field: string, delegates: readonly ProcedureTool[]): readonly ProcedureTool[] {
  const workers = workerNames(`${field}.background`, delegates);
  const start = {
    name: 'start_worker',
    description:
      'Starts a worker in the background and gives its id at once. Its result reaches you as a message when it is there; ' +
      'you need not wait for it.',
    input: {},
    access: 'read',
    run: (input: never, ctx: BuiltinProcedureContext<never>) =>
      startWorker(workers, input, ctx as BuiltinProcedureContext),
  } as const;
  const input = startWorkerInput(workers, `${field}.background`);
  return [defineBuiltin(start, input, { callsDelegates: true }), checkWorkers, waitForThem, cancelWorker];
}

async function startWorker(
  workers: ReadonlyMap<string, DelegateTool>,
  { worker, brief }: { readonly worker: string; readonly brief: Json },
  ctx: BuiltinProcedureContext,
): Promise<Json> {
  const { run, self, base, step, call, parentStep } = ctx.site;
  const tool = workers.get(worker) as DelegateTool;
  const { agent } = tool.delegate;
  const key = `${base}/${agent.name}`;
  const query = { key, step, callId: call?.callId ?? key, tool, args: brief, label: ctx.label };
  const permit = await permitWorker(run, self, query);
  if (!permit.ok) throw new ToolError('denied', permit.error.message);
  const { label } = permit;
  const child = { key, parent: self, parentStep, parentSpan: self.span };
  return { id: workersOf(ctx).start({ ...child, agent, input: permit.args, label, delegate: tool }) };
}

/** Of no argument that names an agent: the tree below is that of the delegates. */
function builtin(
  name: string,
  description: string,
  input: JsonSchema,
  run: (input: never, ctx: BuiltinProcedureContext) => Promise<Json>,
  maxResultChars?: number,
): ProcedureTool {
  const options = { name, description, input: {}, access: 'read', maxResultChars, run } as const;
  return defineBuiltin(options, compileSchema({ type: 'object', additionalProperties: false, ...input }, name), {
    callsDelegates: true,
  });
}

const checkWorkers = builtin(
  'check_workers',
  'How far each worker is that you started: no results.',
  { properties: {} },
  async (_input, ctx) => {
    const { run, self, base } = ctx.site;
    return run.journal.once(`${base}/@states`, self, () => workersOf(ctx).states());
  },
);

interface Wait {
  readonly ids?: readonly string[];
  readonly timeoutMs?: number;
}

const WHY = {
  timeout: 'None of them has ended in this time.',
  message: 'Something else came for you: it follows as a message.',
  given: 'Their results were given to another call of this turn.',
} as const;

const waitForThem = builtin(
  'wait_for_workers',
  'Waits until at least one of your workers has ended, and gives the results that you have not seen. Wait where you can do ' +
    'nothing without them.',
  {
    properties: {
      ids: { type: 'array', minItems: 1, maxItems: 64, items: ID, description: 'Default: all that you started' },
      timeoutMs: {
        type: 'integer',
        minimum: 0,
        maximum: LONGEST_WAIT_MS,
        description: 'How long at most; default: as long as it takes',
      },
    },
  },
  async (input: Wait, ctx) => {
    const { ended, running, why } = await waitForWorkers(workersOf(ctx), input, ctx);
    const room = Math.floor(MAX_RESULT_CHARS / 2 / Math.max(1, ended.length));
    const results: Json[] = [];
    for (const id of ended) results.push(await resultFor(id, ctx, room));
    return { ended: results, running, ...(why !== undefined && { why: WHY[why] }) };
  },
  MAX_RESULT_CHARS,
);

const cancelWorker = builtin(
  'cancel_worker',
  'Stops a worker whose result you do not need. Gives what it had.',
  { properties: { id: ID }, required: ['id'] },
  async ({ id }: { readonly id: string }, ctx) => {
    const workers = workersOf(ctx);
    workers.check([id]);
    const { run, self, base } = ctx.site;
    // Whether it had ended by itself depends on timing.
    const claim = run.journal.once(`${base}/@claim`, self, () => workers.claim(id));
    if (claim === 'given') throw new ToolError('threw', `The result of ${id} was given before.`);
    workers.claim(id);
    if (claim === 'running') await workers.cancel(id, 'Its supervisor cancelled it.');
    workers.checkStop(base);
    return resultFor(id, ctx, DEFAULTS.maxResultChars / 2);
  },
);

async function resultFor(id: string, ctx: BuiltinProcedureContext, maxChars: number): Promise<Json> {
  const { result, label } = await workersOf(ctx).give(id, maxChars);
  ctx.join(label);
  return result;
}

function workersOf({ site: { run, self } }: BuiltinProcedureContext): Workers {
  self.workers ??= new Workers(run, self);
  return self.workers;
}

/** What `start_worker` takes: a worker, and a brief that fits that worker's input. */
function startWorkerInput(workers: FanOutWorkers, field: string): Schema {
  let shown: JsonSchema | undefined;
  const outer = compileSchema(shape(workers, {}), field);
  return Object.freeze({
    gives: undefined,
    get jsonSchema(): JsonSchema {
      shown ??= shape(workers, briefSchema(workers, '#/properties/brief'));
      return shown;
    },
    validate(value: unknown): Validation<unknown> {
      const checked = outer.validate(value);
      if (!checked.ok) return checked;
      const { worker, brief } = checked.value as { worker: string; brief: unknown };
      const read = readBrief(workers.get(worker)?.delegate.agent, brief);
      if (read.ok) return { ok: true, value: { worker, brief: read.value } };
      return {
        ok: false,
        issues: read.issues.map(({ path, message }) => ({ path: `$.brief${path.slice(1)}`, message })),
      };
    },
  });
}

function shape(workers: FanOutWorkers, brief: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: { worker: { type: 'string', enum: [...workers.keys()] }, brief },
    required: ['worker', 'brief'],
    additionalProperties: false,
  };
}
