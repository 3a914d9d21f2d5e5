export type { ToolSource } from '../../core/contract/tool-source.ts';
export { type McpToolsOptions, mcpTools } from './mcp-tools.ts';
export { type McpServing, serveMcp } from './serve-mcp.ts';
export type { McpHttp, ServeMcpOptions } from './serve-options.ts';
export type { McpCommand, McpStart, McpUrl } from './server-start.ts';
export type { McpToolOptions, McpToolSettings } from './tool-settings.ts';
