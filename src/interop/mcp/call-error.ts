import { short } from '../../core/schema/issue-text.ts';
import { isA, messageOf, ToolError } from '../../core/values/errors.ts';
import { isUnauthorized } from './connect.ts';
import type { loadClient } from './sdk.ts';

type Sdk = Awaited<ReturnType<typeof loadClient>>;

/** The facts of a failed call. */
export interface FailedCall {
  readonly server: string;
  readonly tool: string;
  /** The last error of the connection, which tells more than that it closed. */
  readonly complaint: Error | undefined;
  /** Whether the call may have had an effect. */
  readonly isUnsafe: boolean;
}

/** An error of the SDK as a tool's error. The server's text is bounded; an abort of the caller is returned unchanged. */
export function callError(sdk: Sdk, thrown: unknown, of: FailedCall): unknown {
  if (isA(thrown, ToolError)) return thrown;
  const { server, tool } = of;
  const at = `${tool} of the server ${server}`;
  const reason = short(messageOf(thrown), 500);
  if (isA(thrown, sdk.ProtocolError)) {
    // Traces have JSON-RPC's own code.
    const details = { code: `mcp_error_${thrown.code}`, cause: thrown };
    switch (thrown.code) {
      case sdk.ProtocolErrorCode.InvalidParams:
        return new ToolError('invalid_args', `${at}: ${reason}`, details);
      case sdk.ProtocolErrorCode.MethodNotFound:
        return new ToolError('unknown_tool', `${at}: ${reason}`, details);
      default:
        return new ToolError('threw', `${at} failed (${thrown.code}): ${reason}`, details);
    }
  }
  if (isUnauthorized(sdk, thrown))
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
      return new ToolError('threw', `${at} failed: ${reason}`, { cause: thrown });
  }
}

/** The connection was lost, so the outcome of the call is unknown. */
function lost(at: string, { complaint, isUnsafe }: FailedCall, cause: unknown): ToolError {
  const why = complaint === undefined ? 'closed the connection' : `was cut off: ${short(complaint.message, 200)}`;
  const kind = isUnsafe ? 'unknown_outcome' : 'threw';
  const unknown = isUnsafe ? '; whether the call did something is not known' : '';
  return new ToolError(kind, `${at} ${why} before it answered${unknown}`, { code: 'mcp_connection_lost', cause });
}
