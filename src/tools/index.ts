export { type CommandOptions, type CommandResult, commandTool } from './commands/command-tool.ts';
export type { CommandParameter, CommandPreset } from './commands/preset.ts';
export type { Sandbox } from './commands/sandbox.ts';
export { type FetchOptions, fetchTool } from './fetch/fetch-tool.ts';
export type { Page } from './fetch/read-page.ts';
export type { Connect } from './fetch/send-request.ts';
export { type SkillOptions, skills } from './skills/skills.ts';
export { type WorkspaceOptions, workspaceTools } from './workspace/workspace-tools.ts';
