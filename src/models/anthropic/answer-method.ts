import type { JsonSchema } from '../../core/schema/schema.ts';
import type { ModelRequest, ToolDefinition } from '../../core/values/model.ts';
import { BY_TOOL, takesAnswer, withAnswerTool } from '../request/answer-tool.ts';
import { oncePerFrozen } from '../request/once-per-frozen.ts';
import { schemaSubset } from '../request/schema-subset.ts';
import { outputInstruction } from '../request/tool-schema.ts';

/** How a structured answer is requested, with the tools of the request. */
export interface AnswerMethod {
  readonly tools: readonly ToolDefinition[];
  /** The schema that the endpoint enforces. */
  readonly schema?: JsonSchema;
  /** The instruction in words. */
  readonly words?: string;
  /** True if the answer comes as a tool call. */
  readonly byTool: boolean;
}

/** By schema if the endpoint can enforce it (`structured`), else by a tool, else, if the schema is no object, in words. */
export function answerMethod(request: ModelRequest, structured: boolean): AnswerMethod {
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
