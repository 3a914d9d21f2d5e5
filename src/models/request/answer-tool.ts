import { toolCallsOf } from '../../core/values/message.ts';
import type { ModelContext, ModelDelta, ModelRequest, ModelTurn, ToolDefinition } from '../../core/values/model.ts';
import { oncePerFrozen } from './once-per-frozen.ts';

/** The tool with which a model gives its answer, if its endpoint enforces only the schemas of tools. */
export const ANSWER_TOOL = 'final_answer';

/** The instruction for the model, since it cannot be forced to call the tool. */
export const BY_TOOL = `Give your final answer by a call of ${ANSWER_TOOL}; where you cannot, as one JSON value that fits its parameters, and nothing else.`;

/** Whether a tool can take the answer: its parameters are an object, and no other tool has the name. */
export function takesAnswer({ output, tools }: ModelRequest): boolean {
  return output?.schema.type === 'object' && tools.every(({ name }) => name !== ANSWER_TOOL);
}

type Output = NonNullable<ModelRequest['output']>;

/** The tools with the one that takes the answer: the same list for the same two. */
export function withAnswerTool(tools: readonly ToolDefinition[], output: Output): readonly ToolDefinition[] {
  return listFor(tools)(output);
}

const listFor = oncePerFrozen((tools: readonly ToolDefinition[]) =>
  oncePerFrozen(({ schema }: Output): readonly ToolDefinition[] =>
    Object.freeze([
      ...tools,
      {
        name: ANSWER_TOOL,
        description: 'Takes your final answer. Call it once, alone, at the end.',
        parameters: schema,
      },
    ]),
  ),
);

/**
 * The turn with its answer as a text, if its only call gives the answer. Beside other calls it is a normal call, whose result tells the
 * model that this tool cannot be combined with others.
 */
export function withToolAnswer(turn: ModelTurn): ModelTurn {
  const [call, ...others] = toolCallsOf(turn.content);
  if (call?.name !== ANSWER_TOOL || others.length > 0) return turn;
  // The native turn has a call without a result, so the neutral turn is sent back.
  const { native, ...rest } = turn;
  const thoughts = turn.content.filter((part) => part.type === 'reasoning');
  return { ...rest, content: [...thoughts, { type: 'text', text: call.arguments }], stop: 'end' };
}

/** A context that shows the arguments of the answer's call as the text that they will be. */
export function answering({ signal, onDelta }: ModelContext): ModelContext {
  if (onDelta === undefined) return { signal };
  const answers = new Set<number>();
  const show = (delta: ModelDelta) => {
    if (delta.type === 'tool_call' && delta.name === ANSWER_TOOL) answers.add(delta.index);
    if (delta.type !== 'tool_call' || !answers.has(delta.index)) onDelta(delta);
    else if (delta.arguments) onDelta({ type: 'text', text: delta.arguments });
  };
  return { signal, onDelta: show };
}
