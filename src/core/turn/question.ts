import { steadySchema } from '../schema/steady-schema.ts';
import { canonical, sha256 } from '../values/json.ts';
import { type Model, type ModelRequest, type ModelSettings, modelName, type ToolDefinition } from '../values/model.ts';
import type { MessageChain } from './message-chain.ts';

/** What stays the same in every request of an invocation. */
export interface Question {
  readonly model: Model;
  readonly instructions: string;
  readonly tools: readonly ToolDefinition[];
  readonly output: ModelRequest['output'];
  readonly settings: ModelSettings;
  /** The hash of what was sent so far; worked out only for durable journals. */
  readonly chain: Pick<MessageChain, 'extend'>;
  /** False where its chunks are not shown to listeners. Default true. */
  readonly isShown?: boolean;
}

const parts = new WeakMap<Question, { readonly [part: string]: string }>();

/** Its hash by part, worked out once: only durable journals ask. */
export function partsOf(question: Question): { readonly [part: string]: string } {
  const cached = parts.get(question);
  if (cached !== undefined) return cached;
  const { model, instructions, tools, output, settings } = question;
  const hash = (value: unknown) => sha256(canonical(value));
  const steady = tools.map((tool) => ({ ...tool, parameters: steadySchema(tool.parameters) }));
  const made = {
    model: modelName(model),
    instructions: sha256(instructions),
    tools: hash(steady),
    settings: hash(settings),
    ...(output !== undefined && { output: hash(steadySchema(output.schema)) }),
  };
  parts.set(question, made);
  return made;
}
