import type { UIMessage } from 'ai';
import { checkOneOf, checkOptions } from '../../core/values/options.ts';
import { loadSdk } from '../../models/sdk.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import { isDurable } from '../is-durable.ts';
import type { UiRunChunk, UiRunData } from './ui-chunks.ts';
import { UiMessageLog } from './ui-message-log.ts';

/** A message of `useChat<UiRunMessage>()` that shows a run: its text, and data parts for progress, approvals and usage. */
export type UiRunMessage = UIMessage<{ readonly runId: string }, UiRunData>;

/** What {@link toUiMessageStream} takes. */
export interface UiMessageStreamOptions {
  /** Whether the root's calls are shown as tool parts, with arguments and results. Of one run the first stream's choice holds. Default false: names alone. */
  readonly calls?: boolean | undefined;
  /**
   * What becomes of the run when its last reader leaves before its end. Default: `keep` where it has a journal, since it can be
   * resumed and a closed tab is no stop, else `cancel`.
   */
  readonly whenLeft?: 'keep' | 'cancel' | undefined;
}

const logs = new WeakMap<object, UiMessageLog>();

/**
 * A run as the message stream of the AI SDK's UI: text of the root step by step, `data-progress`, `data-approval`, `data-usage`, an
 * error or an abort that says why. Call it in the tick in which the run starts; each further stream of the same run gives the
 * message from its start again, for a tab that comes back. Stop it by an endpoint of its own: `run.cancel()`.
 *
 * @throws ConfigurationError that names the option.
 * @example createUIMessageStream({ execute: ({ writer }) => writer.merge(toUiMessageStream(run)) })
 */
export function toUiMessageStream<Output>(
  run: Run<Output>,
  options: UiMessageStreamOptions = {},
): ReadableStream<UiRunChunk> {
  checkOptions('toUiMessageStream', options, ['calls', 'whenLeft']);
  const { calls = false, whenLeft = isDurable(run) ? 'keep' : 'cancel' } = options;
  checkOneOf('toUiMessageStream.calls', calls, [true, false]);
  checkOneOf('toUiMessageStream.whenLeft', whenLeft, ['keep', 'cancel']);
  let log = logs.get(run);
  if (log === undefined) {
    log = new UiMessageLog(run as Run, calls);
    logs.set(run, log);
  }
  return log.stream(() => {
    if (whenLeft === 'cancel') run.cancel(undefined, 'Whoever watched it left.').catch(() => {});
  });
}

/**
 * The same as the answer of a route: server-sent events, with the run's id in the header `x-run-id`.
 *
 * @throws ConfigurationError where `ai` is missing.
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
