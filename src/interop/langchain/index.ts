export type { ForeignToolOptions } from '../foreign-tool.ts';
export type { ApprovalProgress, WorkerProgress } from '../run-progress.ts';
export type { WorkerToolArgument, WorkerToolOptions } from '../worker-tool.ts';
export { type FromLangChainOptions, fromLangChainTool, type LangChainTool } from './from-langchain-tool.ts';
export { type LangChainArtifact, type LangChainCall, toLangChainTool } from './to-langchain-tool.ts';
