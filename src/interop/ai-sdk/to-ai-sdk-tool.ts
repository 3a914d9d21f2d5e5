import type { JSONValue, Tool, ToolExecutionOptions } from 'ai';
import type { Agent } from '../../core/contract/agent.ts';
import type { Schema, StandardSchema } from '../../core/schema/schema.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { Usage } from '../../core/values/usage.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import { runProgress, type WorkerProgress } from '../run-progress.ts';
import { type Completed, type ToolInput, type WorkerToolArgument, workerTool } from '../worker-tool.ts';

/** One call of the AI SDK: `toolCallId`, `messages`, `abortSignal`, `context`. */
export type AiSdkCall = ToolExecutionOptions<unknown>;

/** The result of a worker, for code: the model reads only `output`. */
export interface AiSdkResult<Output> {
  readonly type: 'result';
  readonly runId: string;
  readonly traceId: string;
  readonly output: Output;
  /** Of the whole run: the AI SDK adds it to nothing. */
  readonly usage: Usage;
  readonly costUsd?: number;
}

/** The outputs of a call: any number of small preliminary ones, each for itself, then the result. */
export type AiSdkOutput<Output> = WorkerProgress | AiSdkResult<Output>;

/**
 * Makes a worker a tool of the AI SDK (`ai` 7). Each call is a separate run under `options`, with untrusted input. Progress comes as
 * preliminary results; the last one is `{ type: 'result', output, usage, … }`, of which the model reads `output`. A worker that did not complete is a
 * tool error, an AgentError with the whole result; an abort ends the run. An approval comes as a preliminary result: answer it
 * with `approve`, or with `run.decide` from `onRun`.
 *
 * @throws ConfigurationError if the agent has no description, or an option is wrong.
 * @example await generateText({ model, tools: { research: toAiSdkTool(researcher, { model: ours }) }, stopWhen: isStepCount(5), prompt });
 */
export function toAiSdkTool<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  ...[options]: WorkerToolArgument<Deps, AiSdkCall>
): Tool<ToolInput<Input>, AiSdkOutput<Output>, unknown> {
  const worker = workerTool<Input, Output, Deps, AiSdkCall>('toAiSdkTool', agent, options);
  async function* execute(input: unknown, call: AiSdkCall): AsyncGenerator<AiSdkOutput<Output>> {
    const { abortSignal } = call;
    const run = worker.start(input, call, abortSignal);
    let isOver = false;
    try {
      yield* runProgress(run as Run, worker.progress);
      const result = await worker.completed(run, abortSignal);
      isOver = true;
      yield resultOf(result);
    } finally {
      // A caller that stops reading does not want the rest.
      if (!isOver) run.cancel(undefined, 'The caller left.').catch(() => {});
    }
  }
  return {
    description: worker.description,
    inputSchema: standardSchema<ToolInput<Input>>(agent.input),
    execute,
    toModelOutput: ({ output }) => modelOutput(output),
  } as Tool<ToolInput<Input>, AiSdkOutput<Output>, unknown>;
}

function resultOf<Output>({ runId, traceId, output, usage, costUsd }: Completed<Output>): AiSdkResult<Output> {
  return { type: 'result', runId, traceId, output, usage, ...(costUsd !== undefined && { costUsd }) };
}

/** Only the worker's output is for the other model. A chat may have stored a preliminary result of an interrupted call, and may send anything. */
function modelOutput(output: unknown): ToolResultOutput {
  const { type, output: value, text } = isPlainObject(output) ? output : {};
  if (type !== 'result')
    return { type: 'error-text', value: `It did not end: ${typeof text === 'string' ? text : 'it was cut off'}` };
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: (value ?? null) as JSONValue };
}

type ToolResultOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>;

/** The AI SDK takes any Standard Schema that knows its JSON Schema (https://standardschema.dev). */
function standardSchema<Input>({ jsonSchema, validate }: Schema): StandardSchema<Input> {
  return {
    '~standard': {
      version: 1,
      vendor: 'coxswain',
      // What the worker is given is parsed there: here it is only judged, so that a default is not filled in twice.
      validate(value) {
        const checked = validate(value);
        if (checked.ok) return { value: value as Input };
        return { issues: checked.issues.map(({ path, message }) => ({ message: `${path}: ${message}` })) };
      },
      // The AI SDK writes into what it is given.
      jsonSchema: { input: () => structuredClone(jsonSchema), output: () => structuredClone(jsonSchema) },
    },
  };
}
