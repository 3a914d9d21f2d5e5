export type { ForeignToolOptions } from '../foreign-tool.ts';
export type { ApprovalProgress, WorkerProgress } from '../run-progress.ts';
export type { WorkerToolArgument, WorkerToolOptions } from '../worker-tool.ts';
export { type FromAiSdkOptions, fromAiSdkTool } from './from-ai-sdk-tool.ts';
export { startChatRun } from './start-chat-run.ts';
export { type AiSdkCall, type AiSdkOutput, type AiSdkResult, toAiSdkTool } from './to-ai-sdk-tool.ts';
export {
  toUiMessageResponse,
  toUiMessageStream,
  type UiMessageStreamOptions,
  type UiRunMessage,
} from './to-ui-message-stream.ts';
export type { UiRunChunk, UiRunData } from './ui-chunks.ts';
