/**
 * A child process: a provider that speaks the three protocols, as fast as it can, on a port that it sends to its parent. It
 * recognises a request by its model's name and its number of tool results, without parsing it.
 */
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { call } from '../script.ts';
import { type Api, PIECE, type Task, taskOf } from './task.ts';
import { type Answer, framed, type Wire, wires } from './wire.ts';

const RESULTS: { readonly [api in Api]: string } = {
  chat: '"role":"tool"',
  responses: '"type":"function_call_output"',
  messages: '"type":"tool_result"',
};

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => void answer(request.url ?? '', Buffer.concat(pieces), response));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.on('disconnect', () => process.exit());

async function answer(path: string, body: Buffer, response: ServerResponse): Promise<void> {
  const api = path.endsWith('/messages') ? 'messages' : path.endsWith('/responses') ? 'responses' : 'chat';
  const model = /"model":"([\w-]+)"/.exec(body.toString('latin1'))?.[1] ?? '';
  const task = taskOf(model);
  const tool = /"name":"(\w+)","description"/.exec(body.toString('latin1'))?.[1] ?? 'lookup';
  if ('latencyMs' in task && task.latencyMs > 0) await sleep(task.latencyMs);
  const given = answerOf(task, count(body, RESULTS[api]), tool);
  const isStream = body.includes('"stream":true');
  if (!isStream) {
    const text = JSON.stringify(wires[api].whole(model, given));
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await stream(wires[api], model, given, response);
  response.end();
}

/** Every event is a separate packet, since a provider flushes each token. */
async function stream(wire: Wire, model: string, given: Answer, response: ServerResponse): Promise<void> {
  for (const event of wire.events(model, given)) {
    response.write(framed(event));
    await turn();
  }
}

function answerOf(task: Task, results: number, tool: string): Answer {
  switch (task.kind) {
    case 'text':
      return { texts: Array.from({ length: task.chunks }, () => PIECE), calls: [] };
    case 'lead':
      return results > 0 ? SAID : { texts: [], calls: Array.from({ length: task.calls }, (_, n) => called(n, tool)) };
    case 'steps': {
      const step = results - task.earlier;
      return step === task.steps - 1 ? SAID : { texts: [], calls: [called(task.earlier + step, tool)] };
    }
  }
}

const SAID: Answer = { texts: Array.from({ length: 20 }, () => PIECE), calls: [] };

function called(index: number, name: string): Answer['calls'][number] {
  const { id, query } = call(index);
  return { id, name, arguments: JSON.stringify(name === 'lookup' ? { query } : { task: `${query}, ${name}` }) };
}

function count(body: Buffer, text: string): number {
  let found = 0;
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + text.length)) found += 1;
  return found;
}
