import { short } from '../../core/schema/issue-text.ts';
import { isA, messageOf, ToolError } from '../../core/values/errors.ts';
import { isRefused } from './connect.ts';
import type { loadClient } from './sdk.ts';

type Sdk = Awaited<ReturnType<typeof loadClient>>;

/** Where a call stood when it failed. */
export interface FailedCall {
  readonly server: string;
  readonly tool: string;
  /** The connection's own last complaint, which says more than that it closed. */
  readonly complaint: Error | undefined;
  /** What it does may have happened. */
  readonly isUnsafe: boolean;
}

/** What the SDK threw, as a tool's error. What a server says of itself is bounded; what is the caller's stop is left as it is. */
export function callError(sdk: Sdk, thrown: unknown, of: FailedCall): unknown {
  if (isA(thrown, ToolError)) return thrown;
  const { server, tool } = of;
  const at = `${tool} of the server ${server}`;
  const said = short(messageOf(thrown), 500);
  if (isA(thrown, sdk.ProtocolError)) {
    // Traces have JSON-RPC's own code.
    const told = { code: `mcp_error_${thrown.code}`, cause: thrown };
    switch (thrown.code) {
      case sdk.ProtocolErrorCode.InvalidParams:
        return new ToolError('invalid_args', `${at}: ${said}`, told);
      case sdk.ProtocolErrorCode.MethodNotFound:
        return new ToolError('unknown_tool', `${at}: ${said}`, told);
      default:
        return new ToolError('threw', `${at} failed (${thrown.code}): ${said}`, told);
    }
  }
  if (isRefused(sdk, thrown))
    return new ToolError('denied', `${at}: the server refuses us (401)`, { code: 'mcp_unauthorized', cause: thrown });
  if (!isA(thrown, sdk.SdkError)) return thrown;
  switch (thrown.code) {
    case sdk.SdkErrorCode.RequestTimeout:
      return new ToolError('timeout', `${at} did not answer in time`, { cause: thrown });
    case sdk.SdkErrorCode.UnsupportedResultType:
      return new ToolError('denied', `${at} asks for a person's input or for a model, which this client refuses`, {
        code: 'mcp_input_refused',
        cause: thrown,
      });
    case sdk.SdkErrorCode.ConnectionClosed:
    case sdk.SdkErrorCode.SendFailed:
    case sdk.SdkErrorCode.NotConnected:
      return lost(at, of, thrown);
    default:
      return new ToolError('threw', `${at} failed: ${said}`, { cause: thrown });
  }
}

/** The connection is gone: whether the call did something, nobody knows. */
function lost(at: string, { complaint, isUnsafe }: FailedCall, cause: unknown): ToolError {
  const why = complaint === undefined ? 'closed the connection' : `was cut off: ${short(complaint.message, 200)}`;
  const kind = isUnsafe ? 'unknown_outcome' : 'threw';
  const unknown = isUnsafe ? '; whether the call did something is not known' : '';
  return new ToolError(kind, `${at} ${why} before it answered${unknown}`, { code: 'mcp_connection_lost', cause });
}
