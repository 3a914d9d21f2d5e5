import type { Agent } from '../../core/contract/agent.ts';
import type { JsonSchema } from '../../core/schema/schema.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { UNTRUSTED } from '../../core/values/label.ts';
import type { OptionsArgument, RunOptions } from '../run/run-options.ts';
import { outputOf } from './call-agent.ts';
import { startRunWith } from './start-run.ts';

/** A worker as any other system's tool. */
export interface PlainTool<Output> {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: JsonSchema;
  /** Rejects with an AgentError where the worker did not complete. */
  execute(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<Output>;
}

/**
 * Hands a worker over as a tool of any other framework. Each call is a run of its own under `options`; what comes in is
 * untrusted: it was written by a model that is not ours.
 *
 * @example const { name, description, inputSchema, execute } = toTool(researcher, { model });
 */
export function toTool<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  ...options: OptionsArgument<Deps>
): PlainTool<Output> {
  if (agent.description === '') {
    throw new ConfigurationError(
      `agent ${agent.name}.description`,
      'a tool needs a description',
      'Say in a sentence what the worker is for.',
    );
  }
  const given = (options[0] ?? {}) as RunOptions;
  return {
    name: agent.name,
    description: agent.description,
    inputSchema: agent.input.jsonSchema,
    async execute(input, { signal } = {}) {
      const both =
        signal === undefined || given.signal === undefined
          ? (signal ?? given.signal)
          : AbortSignal.any([signal, given.signal]);
      const run = startRunWith(agent, input, UNTRUSTED, { ...given, signal: both });
      return outputOf(agent.name, await run.result);
    },
  };
}
