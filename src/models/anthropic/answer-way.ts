import type { JsonSchema } from '../../core/schema/schema.ts';
import type { ModelRequest, ToolDefinition } from '../../core/values/model.ts';
import { BY_TOOL, takesAnswer, withAnswerTool } from '../request/answer-tool.ts';
import { oncePerFrozen } from '../request/once-per-frozen.ts';
import { outputInstruction } from '../request/output.ts';
import { schemaSubset } from '../request/schema-subset.ts';

/** How a structured answer is asked for, and the tools that the model is told of then. */
export interface AnswerWay {
  readonly tools: readonly ToolDefinition[];
  /** What the model is held to. */
  readonly schema?: JsonSchema;
  /** What it is asked in words. */
  readonly words?: string;
  /** True where a call gives the answer. */
  readonly byTool: boolean;
}

/** By its schema where the model can be held to it (`structured`), else by a tool, else, where the schema is no object, in words. */
export function answerWay(request: ModelRequest, structured: boolean): AnswerWay {
  const { output, tools } = request;
  if (output === undefined) return { tools, byTool: false };
  const schema = structured ? outputSchema(output) : undefined;
  if (schema !== undefined) return { tools, schema, byTool: false };
  if (!takesAnswer(request)) return { tools, words: outputInstruction(output), byTool: false };
  return { tools: withAnswerTool(tools, output), words: BY_TOOL, byTool: true };
}

const outputSchema = oncePerFrozen(({ schema }: NonNullable<ModelRequest['output']>) =>
  schemaSubset(schema, { allRequired: false }),
);
