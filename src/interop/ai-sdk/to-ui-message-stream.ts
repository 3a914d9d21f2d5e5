import type { UIMessage } from 'ai';
import { checkOneOf, checkOptions } from '../../core/values/options.ts';
import { loadSdk } from '../../models/sdk.ts';
import { LiveRun } from '../../orchestration/run/run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { UiRunChunk, UiRunData } from './ui-chunks.ts';
import { UiMessageLog } from './ui-message-log.ts';

/** A message of `useChat<UiRunMessage>()` that shows a run: its text, and data parts for progress, approvals and usage. */
export type UiRunMessage = UIMessage<{ readonly runId: string }, UiRunData>;

/** What {@link toUiMessageStream} takes. */
export interface UiMessageStreamOptions {
  /** Whether the root's calls are shown as tool parts, with arguments and results. The first stream of a run decides for all its streams. Default false: names alone. */
  readonly calls?: boolean | undefined;
  /**
   * Whether the run continues when its last reader disconnects before its end. Default: `keep` with a journal, since the run can be
   * resumed and a closed tab is no stop, else `cancel`.
   */
  readonly onDisconnect?: 'keep' | 'cancel' | undefined;
}

const logs = new WeakMap<object, UiMessageLog>();

/**
 * A run as the message stream of the AI SDK's UI: text of the root step by step, `data-progress`, `data-approval`, `data-usage`, an
 * error or an abort with its cause. Call it in the tick in which the run starts; each further stream of the same run gives the
 * message from its start again, for a tab that reconnects. Stop the run with a separate endpoint: `run.cancel()`.
 *
 * @throws ConfigurationError that names the option.
 * @example createUIMessageStream({ execute: ({ writer }) => writer.merge(toUiMessageStream(run)) })
 */
export function toUiMessageStream<Output>(
  run: Run<Output>,
  options: UiMessageStreamOptions = {},
): ReadableStream<UiRunChunk> {
  checkOptions('toUiMessageStream', options, ['calls', 'onDisconnect']);
  const { calls = false, onDisconnect = isDurable(run) ? 'keep' : 'cancel' } = options;
  checkOneOf('toUiMessageStream.calls', calls, [true, false]);
  checkOneOf('toUiMessageStream.onDisconnect', onDisconnect, ['keep', 'cancel']);
  let log = logs.get(run);
  if (log === undefined) {
    log = new UiMessageLog(run as Run, calls);
    logs.set(run, log);
  }
  return log.stream(() => {
    if (onDisconnect === 'cancel') run.cancel(undefined, 'Whoever watched it left.').catch(() => {});
  });
}

/**
 * The same stream as a `Response`: server-sent events, with the run's id in the header `x-run-id`.
 *
 * @throws ConfigurationError if `ai` is missing.
 * @example export const POST = async (request: Request) => toUiMessageResponse(startChatRun(lead, (await request.json()).messages, { model }));
 */
export async function toUiMessageResponse<Output>(
  run: Run<Output>,
  {
    headers,
    status,
    keepAliveMs,
    ...options
  }: UiMessageStreamOptions & {
    readonly headers?: { readonly [name: string]: string } | undefined;
    /** Default 200. */
    readonly status?: number | undefined;
    /** Milliseconds of silence after which a comment is sent, so that no proxy closes the connection. Default: none. */
    readonly keepAliveMs?: number | undefined;
  } = {},
): Promise<Response> {
  const stream = toUiMessageStream(run, options);
  const { createUIMessageStreamResponse } = await loadSdk('ai', () => import('ai'));
  return createUIMessageStreamResponse({
    stream,
    headers: { 'x-run-id': run.id, ...headers },
    ...(status !== undefined && { status }),
    ...(keepAliveMs !== undefined && { keepAliveMs }),
  });
}

/** Whether a run can be resumed later, so that it need not end when its caller disconnects. */
function isDurable<Output>(run: Run<Output>): boolean {
  return run instanceof LiveRun && run.isDurable;
}
