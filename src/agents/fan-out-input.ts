import type { Agent } from '../core/contract/agent.ts';
import type { Delegate, ProcedureTool } from '../core/contract/tool.ts';
import { compileSchema } from '../core/schema/compile-schema.ts';
import type { Issue, JsonSchema, Schema, Validation } from '../core/schema/schema.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { canonical, isPlainObject, type Json } from '../core/values/json.ts';

/** The workers of a supervisor, by the name that its model gives them. */
export type FanOutWorkers = ReadonlyMap<string, { readonly delegate: Delegate }>;

/** What `fan_out` takes: a worker, and briefs that fit that worker's input. */
export function fanOutInput(workers: FanOutWorkers, max: number, field: string): Schema {
  let shown: JsonSchema | undefined;
  const outer = compileSchema(shape(workers, max, {}), field);
  return Object.freeze({
    gives: undefined,
    get jsonSchema(): JsonSchema {
      shown ??= shape(workers, max, briefSchema(workers, ITEMS));
      return shown;
    },
    validate(value: unknown): Validation<unknown> {
      const checked = outer.validate(value);
      if (!checked.ok) return checked;
      const { worker, briefs } = checked.value as { worker: string; briefs: readonly unknown[] };
      const agent = workers.get(worker)?.delegate.agent;
      const issues: Issue[] = [];
      const read = briefs.map((brief, index) => {
        const parsed = readBrief(agent, brief);
        if (parsed.ok) return parsed.value;
        for (const { path, message } of parsed.issues)
          issues.push({ path: `$.briefs[${index}]${path.slice(1)}`, message });
        return undefined;
      });
      return issues.length > 0 ? { ok: false, issues } : { ok: true, value: { worker, briefs: read } };
    },
  });
}

/** A brief in the form of the worker's input; a text becomes `{ task }`. */
export function readBrief(agent: Agent | undefined, brief: unknown): Validation<unknown> {
  const isText = typeof brief === 'string' && agent?.ownInput === false;
  return agent?.input.validate(isText ? { task: brief } : brief) ?? { ok: true, value: brief };
}

function shape(workers: FanOutWorkers, max: number, items: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: {
      worker: { type: 'string', enum: [...workers.keys()] },
      briefs: { type: 'array', minItems: 1, maxItems: max, items },
    },
    required: ['worker', 'briefs'],
    additionalProperties: false,
  };
}

const ITEMS = '#/properties/briefs/items';

/** The schema of the workers' input at a path of a larger schema; `anyOf` if the workers take different inputs. */
export function briefSchema(workers: FanOutWorkers, at: string): JsonSchema {
  const distinct = new Map<string, JsonSchema>();
  for (const { delegate } of workers.values()) {
    const { jsonSchema } = delegate.agent.input;
    distinct.set(canonical(jsonSchema), jsonSchema);
  }
  const schemas = [...distinct.values()];
  const [only] = schemas;
  if (only !== undefined && schemas.length === 1) return moved(only, at) as JsonSchema;
  return { anyOf: schemas.map((schema, index) => moved(schema, `${at}/anyOf/${index}`)) };
}

/** A schema moved to another path, with its references adapted. */
function moved(node: Json, to: string): Json {
  if (Array.isArray(node)) return node.map((item: Json) => moved(item, to));
  if (!isPlainObject(node)) return node;
  const entries = Object.entries(node as { readonly [key: string]: Json }).map(([key, value]): [string, Json] => {
    const isLocal = key === '$ref' && typeof value === 'string' && value.startsWith('#');
    return [key, isLocal ? to + value.slice(1) : moved(value, to)];
  });
  return Object.fromEntries(entries);
}

/** A delegate among a supervisor's tools. */
export type DelegateTool = ProcedureTool & { readonly delegate: Delegate };

/** The workers of a supervisor that take a brief, by the name that its model uses: the agent's, or that of the worker's own tool. */
export function workerNames(field: string, delegates: readonly ProcedureTool[]): ReadonlyMap<string, DelegateTool> {
  const workers = new Map<string, DelegateTool>();
  for (const tool of delegates.filter(isDelegate)) {
    const { name } = tool.delegate.agent;
    const called = tool.name === `delegate_${name}` ? name : tool.name;
    if (workers.has(called))
      throw new ConfigurationError(field, `two workers are called ${called}`, 'Give one of them another toolName.');
    workers.set(called, tool);
  }
  if (workers.size === 0)
    throw new ConfigurationError(field, 'no worker takes a brief', 'Leave it out, or add a worker that is no handoff.');
  return workers;
}

function isDelegate(tool: ProcedureTool): tool is DelegateTool {
  return tool.delegate !== undefined && !tool.delegate.handoff;
}
