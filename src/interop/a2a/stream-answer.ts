import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { jsonText, SECURITY_HEADERS } from '../http/send-json.ts';

/** Milliseconds after which a client that reads nothing is disconnected; it may subscribe to its task again. */
const STALL_MS = 10_000;

/**
 * Sends the items of a stream as Server-Sent Events, as fast as the client reads. An error before the first item is thrown.
 * Without a client the stream is still read to its end, since its items are kept in the task.
 */
export async function streamAnswer(
  response: ServerResponse,
  stream: AsyncIterator<unknown>,
  failure: (thrown: unknown) => unknown,
): Promise<void> {
  const first = await stream.next();
  response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  response.flushHeaders();
  try {
    for (let next = first; next.done !== true; next = await stream.next())
      if (!response.destroyed && !response.write(`data: ${jsonText(next.value)}\n\n`)) await drained(response);
  } catch (thrown) {
    response.write(`event: error\ndata: ${jsonText(failure(thrown))}\n\n`);
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  const close = () => over.abort();
  response.once('close', close);
  const timer = setTimeout(() => response.destroy(), STALL_MS);
  await once(response, 'drain', { signal: over.signal }).catch(() => {});
  clearTimeout(timer);
  response.off('close', close);
}
