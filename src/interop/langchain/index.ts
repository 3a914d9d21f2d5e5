export type { WorkerProgress } from '../run-progress.ts';
export type { WorkerToolArgument, WorkerToolOptions } from '../worker-tool.ts';
export { type LangChainArtifact, type LangChainCall, toLangChainTool } from './to-langchain-tool.ts';
