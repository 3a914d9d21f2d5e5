// A run as a message of useChat: a server with three routes, and the part of a page that reads it.
// Run it: node --conditions=@coxswain/source examples/reuse/chat.ts
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { DefaultChatTransport, readUIMessageStream } from 'ai';
import type { Run } from 'coxswain';
import { startChatRun, toUiMessageResponse, type UiRunMessage } from 'coxswain/ai-sdk';
import { scripted, sounder } from './sounder.ts';

const runs = new Map<string, Run<unknown>>();

/** The routes, as in a framework with Request and Response. */
async function route(method: string, path: string, body: string): Promise<Response> {
  const [, chat, what] = /^\/api\/chat(?:\/([^/]+)\/(stream|stop))?$/.exec(path) ?? [];
  if (chat === undefined) {
    const { id, messages } = JSON.parse(body);
    const run = startChatRun(sounder, messages, { model: scripted() });
    runs.set(id, run);
    return toUiMessageResponse(run);
  }
  const run = runs.get(chat);
  if (run === undefined) return new Response(null, { status: 204 });
  if (what === 'stream' && method === 'GET') return toUiMessageResponse(run);
  await run.cancel();
  return new Response(null, { status: 202 });
}

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const answer = await route(request.method ?? '', request.url ?? '', body);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else Readable.fromWeb(answer.body as ReadableStream).pipe(response);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

// The page: useChat does this, and shows each state of the message.
const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
const transport = new DefaultChatTransport<UiRunMessage>({ api });
const question: UiRunMessage = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'Can I pass the bar?' }] };
const stream = await transport.sendMessages({
  trigger: 'submit-message',
  chatId: 'chat-1',
  messageId: undefined,
  messages: [question],
  abortSignal: undefined,
});
let message: UiRunMessage | undefined;
for await (message of readUIMessageStream<UiRunMessage>({ stream }));
for (const part of message?.parts ?? []) {
  if (part.type === 'data-progress') console.log(`(${part.data.text})`);
  if (part.type === 'text') console.log(part.text);
  if (part.type === 'data-usage') console.log(`${part.data.status}: ${part.data.usage.inputTokens} tokens in`);
}
server.close();
