type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A message of a server that is larger than it may be. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`a message of more than ${maxBytes} bytes`);
  }
}

/** `fetch` that reads no more than `maxBytes` of one answer, or of one event where the answer is a stream of them. */
export function boundedFetch(fetch: Fetch, maxBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body, status, statusText, headers } = response;
    // A redirect is the SDK's to judge, as it came.
    if (body === null || (status >= 300 && status < 400)) return response;
    const isStream = headers.get('content-type')?.includes('text/event-stream') ?? false;
    if (!isStream && Number(headers.get('content-length') ?? 0) > maxBytes) {
      await body.cancel();
      throw new TooLarge(maxBytes);
    }
    return new Response(body.pipeThrough(bounded(maxBytes, isStream)), { status, statusText, headers });
  };
}

const LINE_FEED = 10;
const RETURN = 13;

function bounded(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let isLineEmpty = false;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length;
      if (isStream && size > maxBytes / 2) {
        // An event ends with an empty line.
        for (let at = 0; at < chunk.length; at += 1) {
          if (chunk[at] === LINE_FEED && isLineEmpty) size = chunk.length - at;
          if (chunk[at] !== RETURN) isLineEmpty = chunk[at] === LINE_FEED;
        }
      } else isLineEmpty = chunk.at(-1) === LINE_FEED;
      if (size > maxBytes) controller.error(new TooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}
