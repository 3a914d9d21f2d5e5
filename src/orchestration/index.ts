export { callAgent } from './call-agent.ts';
export { type ForkOptions, forkRun } from './fork-run.ts';
export type { Approve } from './permission-step.ts';
export { type ReplayOptions, replayRun } from './replay-run.ts';
export { type ResumeArgument, resumeRun } from './resume-run.ts';
export type { Listener, Run } from './run-handle.ts';
export type { ResumeOptions, RunOptions } from './run-options.ts';
export { runAgent, startRun } from './start-run.ts';
export { type PlainTool, toTool } from './to-tool.ts';
