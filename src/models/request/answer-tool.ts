import { toolCallsOf } from '../../core/values/message.ts';
import type { ModelContext, ModelDelta, ModelRequest, ModelTurn, ToolDefinition } from '../../core/values/model.ts';
import { oncePerFrozen } from './once-per-frozen.ts';

/** The tool by which a model gives its answer, where its endpoint holds it to the schemas of tools and to no other. */
export const ANSWER_TOOL = 'final_answer';

/** How the model is told: it may be forbidden to call, or not be held to it. */
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
 * The turn with its answer as a text, where its one call gives it. Beside other calls it is none: they are answered as calls, and the
 * model is told that there is no such tool to call beside others.
 */
export function withAnswer(turn: ModelTurn): ModelTurn {
  const [call, ...others] = toolCallsOf(turn.content);
  if (call?.name !== ANSWER_TOOL || others.length > 0) return turn;
  // The provider's own turn has a call in it, which nobody will answer: the neutral one goes back.
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
