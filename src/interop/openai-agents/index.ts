export type { WorkerToolArgument, WorkerToolOptions } from '../worker-tool.ts';
export { type OpenAIAgentsCall, type OpenAIAgentsOptions, toOpenAIAgentsTool } from './to-openai-agents-tool.ts';
