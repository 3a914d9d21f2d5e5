import type { ErrorRecord } from '../../core/values/errors.ts';

/** JSON-RPC's own code, of an answer of an MCP server that is an error. */
export function rpcCode({ code = '' }: Pick<ErrorRecord, 'code'>): string | undefined {
  return /^mcp_error_(-?\d+)$/.exec(code)?.[1];
}

/** `error.type` of a call that failed: its kind; of a tool of an MCP server what the conventions have for it. */
export function toolFault(error: Pick<ErrorRecord, 'kind' | 'code'>): string {
  return error.code === 'mcp_tool_error' ? 'tool_error' : (rpcCode(error) ?? error.kind);
}
