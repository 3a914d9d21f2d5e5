import type { RunnableConfig } from '@langchain/core/runnables';
import type { DynamicStructuredTool } from '@langchain/core/tools';
import type { Agent } from '../../core/contract/agent.ts';
import type { Usage } from '../../core/values/usage.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import { peer } from '../peer.ts';
import { runProgress } from '../run-progress.ts';
import { type Completed, type ToolInput, type WorkerToolArgument, workerTool } from '../worker-tool.ts';

const sdk = await peer('@langchain/core', () => import('@langchain/core/tools'));

/** The config of one call: `configurable`, `metadata`, `signal`, and `writer` in a graph. */
export type LangChainCall = RunnableConfig & { readonly writer?: ((chunk: unknown) => void) | null };

/** The artifact of a call, for code; the model reads the content alone. */
export interface LangChainArtifact<Output> {
  readonly runId: string;
  readonly traceId: string;
  readonly output: Output;
  readonly usage: Usage;
  readonly costUsd?: number;
}

type JsonSchemaObject = { readonly type: 'object'; readonly [keyword: string]: unknown };

/**
 * Makes a worker a tool of LangChain (`@langchain/core` 1). Each call is a separate run under `options`, with untrusted input. Its
 * content is the worker's output, its artifact has the output as a value with usage and run id; progress goes to `config.writer` if a graph
 * has one. A worker that did not complete is an AgentError; an abort of `config.signal` ends the run.
 *
 * @throws ConfigurationError where `@langchain/core` is missing, the agent has no description, or an option is wrong.
 * @example createAgent({ model, tools: [toLangChainTool(researcher, { model: ours })] })
 */
export function toLangChainTool<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  ...[options]: WorkerToolArgument<Deps, LangChainCall>
): DynamicStructuredTool<JsonSchemaObject, unknown, ToolInput<Input>, [string, LangChainArtifact<Output>]> {
  const { tool } = sdk();
  const worker = workerTool<Input, Output, Deps, LangChainCall>('toLangChainTool', agent, options);
  const call = async (input: unknown, config: LangChainCall): Promise<[string, LangChainArtifact<Output>]> => {
    const { signal, writer } = config;
    const run = worker.start(input, config, signal);
    if (writer && worker.progress !== 'none') await writeProgress(run as Run, worker.progress, writer);
    const result = await worker.completed(run, signal);
    return [contentOf(result.output), artifactOf(result)];
  };
  return tool(call, {
    name: worker.name,
    description: worker.description,
    schema: structuredClone(worker.inputSchema),
    responseFormat: 'content_and_artifact',
  }) as unknown as ReturnType<typeof toLangChainTool<Input, Output, Deps>>;
}

/** A writer throws when its reader is gone: then the run is cancelled. */
async function writeProgress(run: Run, what: 'names' | 'text', writer: (chunk: unknown) => void): Promise<void> {
  try {
    for await (const progress of runProgress(run, what)) writer(progress);
  } catch (thrown) {
    run.cancel(undefined, 'The caller left.').catch(() => {});
    throw thrown;
  }
}

function contentOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}

function artifactOf<Output>({ runId, traceId, output, usage, costUsd }: Completed<Output>): LangChainArtifact<Output> {
  return { runId, traceId, output, usage, ...(costUsd !== undefined && { costUsd }) };
}
