export { type WorkspaceOptions, workspaceTools } from './workspace/workspace-tools.ts';
