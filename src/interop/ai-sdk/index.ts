export type { WorkerProgress } from '../run-progress.ts';
export type { WorkerToolArgument, WorkerToolOptions } from '../worker-tool.ts';
export { type AiSdkCall, type AiSdkOutput, type AiSdkResult, toAiSdkTool } from './to-ai-sdk-tool.ts';
