import { textOfUrl, withoutSecrets } from './failure/without-secrets.ts';

/** What went over the wire, byte for byte but for secrets. `call` pairs a response with its request; it counts from 1 per model. */
export type WireEntry =
  | {
      readonly type: 'request';
      readonly call: number;
      readonly method: string;
      readonly url: string;
      readonly headers: { readonly [name: string]: string };
      readonly body: string;
    }
  | {
      readonly type: 'response';
      readonly call: number;
      readonly status: number;
      readonly headers: { readonly [name: string]: string };
      /** As it came, before anything is mended. */
      readonly body: string;
      /** False where the body was not read to its end. */
      readonly complete: boolean;
      readonly durationMs: number;
    }
  | { readonly type: 'failure'; readonly call: number; readonly message: string; readonly durationMs: number };

/** Called with each complete entry. Its errors are ignored: an observer never breaks a call. */
export type Debug = (entry: WireEntry) => void;

/** A `fetch` that reports its requests and responses to `debug`. */
export function loggingFetch(send: typeof fetch, debug: Debug | undefined, secrets: readonly string[]): typeof fetch {
  if (debug === undefined) return send;
  let calls = 0;
  const report = (entry: WireEntry) => {
    try {
      debug(entry);
    } catch {
      // An observer's mistake is not the call's.
    }
  };
  return async (input, init) => {
    calls += 1;
    const call = calls;
    const started = performance.now();
    const durationMs = () => performance.now() - started;
    report({
      type: 'request',
      call,
      method: init?.method ?? 'GET',
      url: textOfUrl(input, secrets),
      headers: headersOf(new Headers(init?.headers), secrets),
      body: withoutSecrets(typeof init?.body === 'string' ? init.body : '', secrets),
    });
    try {
      const response = await send(input, init);
      const { status } = response;
      const headers = headersOf(response.headers, secrets);
      return observed(response, (body, complete) =>
        report({
          type: 'response',
          call,
          status,
          headers,
          body: withoutSecrets(body, secrets),
          complete,
          durationMs: durationMs(),
        }),
      );
    } catch (thrown) {
      const message = withoutSecrets(thrown instanceof Error ? thrown.message : String(thrown), secrets);
      report({ type: 'failure', call, message, durationMs: durationMs() });
      throw thrown;
    }
  };
}

/** The same response; `onBody` receives its body once, at its end or where reading stopped. */
function observed(response: Response, onBody: (body: string, complete: boolean) => void): Response {
  if (response.body === null) {
    onBody('', true);
    return response;
  }
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  let isReported = false;
  const report = (complete: boolean) => {
    if (isReported) return;
    isReported = true;
    onBody(text + decoder.decode(), complete);
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          report(true);
          controller.close();
          return;
        }
        text += decoder.decode(value, { stream: true });
        controller.enqueue(value);
      } catch (thrown) {
        report(false);
        controller.error(thrown);
      }
    },
    async cancel(reason) {
      report(false);
      await reader.cancel(reason);
    },
  });
  const headers = new Headers(response.headers);
  // The body is decoded already.
  headers.delete('content-encoding');
  headers.delete('content-length');
  return new Response(body, { status: response.status, headers });
}

const SECRET = /authorization|api-?key|token|secret|cookie|signature/i;

function headersOf(headers: Headers, secrets: readonly string[]): { readonly [name: string]: string } {
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, SECRET.test(name) ? '[redacted]' : withoutSecrets(value, secrets)]),
  );
}
