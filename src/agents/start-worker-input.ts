import { compileSchema } from '../core/schema/compile-schema.ts';
import type { JsonSchema, Schema, Validation } from '../core/schema/schema.ts';
import { briefSchema, type FanOutWorkers, readBrief } from './fan-out-input.ts';

/** What `start_worker` takes: a worker, and a brief that fits that worker's input. */
export function startWorkerInput(workers: FanOutWorkers, field: string): Schema {
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
