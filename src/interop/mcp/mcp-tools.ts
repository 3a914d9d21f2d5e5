import type { ToolSource } from '../../core/contract/tool-source.ts';
import { checkOptions } from '../../core/values/options.ts';
import type { RevisionMemo } from './connect.ts';
import { Connection, type McpOptions } from './connection.ts';
import { checkStart, type McpStart, START_OPTIONS } from './server-start.ts';
import { checkSettings, type McpToolSettings, SETTINGS } from './tool-settings.ts';

/** What `mcpTools` takes: how the server is reached, and what its tools may do. */
export type McpToolsOptions = McpStart & McpToolSettings;

/**
 * The tools of an MCP server, for an agent's `tools`. Each run has its own connection, opened by the first agent that needs it and closed
 * with the run; the run's agents have the tools that the server offered first. Every call is `execute` and every answer untrusted unless the
 * options set otherwise.
 *
 * @throws ConfigurationError for invalid options. A fault of the server ends the agent that needs it, with `model_error` and the server's name.
 * @example
 * const files = mcpTools({ name: 'files', command: 'npx', args: ['-y', 'mcp-server-files', 'docs'], tools: { read: { access: 'read' } } });
 * const reader = defineAgent({ name: 'reader', instructions: 'Read.', tools: [files] });
 */
export function mcpTools(options: McpToolsOptions): ToolSource {
  checkOptions('mcpTools', options, [...START_OPTIONS, ...SETTINGS]);
  checkStart('mcpTools', { ...options });
  checkSettings('mcpTools', { ...options });
  const settings: McpOptions = Object.freeze({ ...options });
  const name = settings.name ?? 'mcp';
  const revision: RevisionMemo = {};
  return Object.freeze({ type: 'source', name, open: () => new Connection(name, settings, revision) } as const);
}
