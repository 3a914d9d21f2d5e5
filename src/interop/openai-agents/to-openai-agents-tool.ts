import type { FunctionTool, RunContext } from '@openai/agents';
import type { Agent } from '../../core/contract/agent.ts';
import { CoxswainError, isA } from '../../core/values/errors.ts';
import type { Usage } from '../../core/values/usage.ts';
import { peer } from '../peer.ts';
import { type ToolInput, type WorkerToolArgument, workerTool } from '../worker-tool.ts';

const sdk = await peer('@openai/agents', () => import('@openai/agents'));

/** One call of the Agents SDK: the context of its run, and the call's id. */
export interface OpenAIAgentsCall<Context = unknown> {
  readonly runContext: RunContext<Context> | undefined;
  readonly callId: string | undefined;
}

/** What a tool of the Agents SDK takes beside the options of a run. */
export interface OpenAIAgentsOptions<Input, Context = unknown> {
  /** Whether the SDK asks a person before it calls the worker. Default false. */
  readonly needsApproval?:
    | boolean
    | ((context: RunContext<Context>, input: ToolInput<Input>, callId?: string) => Promise<boolean>)
    | undefined;
}

type Parameters = { type: 'object'; properties: object; required: string[]; additionalProperties: true };

/**
 * Makes a worker a tool of the OpenAI Agents SDK (`@openai/agents`). Each call is a separate run under `options`, with untrusted input.
 * Its usage is added to the SDK's usage, also if it failed; the SDK's model reads its output, or why it did not complete; an abort ends the
 * run. The SDK has no channel for progress: use `onRun`. The SDK's names
 * have no `-`: it writes `_`.
 *
 * @throws ConfigurationError where `@openai/agents` is missing, the agent has no description, or an option is wrong.
 * @example new Agent({ name: 'Editor', tools: [toOpenAIAgentsTool(researcher, { model })] })
 */
export function toOpenAIAgentsTool<Input, Output, Deps, Context = unknown>(
  agent: Agent<Input, Output, Deps>,
  ...[options]: WorkerToolArgument<Deps, OpenAIAgentsCall<Context>, OpenAIAgentsOptions<Input, Context>>
): FunctionTool<Context, Parameters, string> {
  const { tool, Usage } = sdk();
  const { needsApproval = false, ...given } = (options ?? {}) as OpenAIAgentsOptions<Input, Context>;
  const worker = workerTool<Input, Output, Deps, OpenAIAgentsCall<Context>>('toOpenAIAgentsTool', agent, given);
  return tool<Parameters, Context>({
    name: worker.name,
    description: worker.description,
    // Strict mode takes a part of JSON Schema only; the worker checks what comes in.
    strict: false,
    parameters: structuredClone(worker.inputSchema) as unknown as Parameters,
    needsApproval: needsApproval as boolean,
    async execute(input, runContext, details) {
      const signal = details?.signal;
      const run = worker.start(input, { runContext, callId: details?.toolCall?.callId }, signal);
      try {
        const { output } = await worker.completed(run, signal);
        // An object with a `type` would be taken for content parts.
        return typeof output === 'string' ? output : JSON.stringify(output ?? null);
      } finally {
        await run.result.then(
          ({ usage }) => runContext?.usage.add(new Usage(usageThere(usage))),
          () => {},
        );
      }
    },
    errorFunction: (_, error) => (isA(error, CoxswainError) ? error.message : `${worker.name} failed.`),
  });
}

/** Every model call of the worker's run is a request. */
function usageThere({ modelCalls, inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage) {
  return {
    requests: modelCalls,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { inputTokensDetails: { cached_tokens: cachedInputTokens } }),
    ...(reasoningTokens !== undefined && { outputTokensDetails: { reasoning_tokens: reasoningTokens } }),
  };
}
