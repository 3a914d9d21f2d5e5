// A worker as a service, a client that reconnects to the events of its run, and the service as a tool of another team.
// Run it: node --conditions=@coxswain/source examples/reuse/http.ts
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, runAgent } from 'coxswain';
import { httpTool, serveHttp } from 'coxswain/http';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { scripted, sounder } from './sounder.ts';

const folder = mkdtempSync(join(tmpdir(), 'served-'));
const journal = sqlite(join(folder, 'runs.db'));
const token = randomBytes(24).toString('base64url');
const server = await serveHttp({
  agents: [sounder],
  tokens: { skipper: token },
  run: () => ({ model: scripted(), journal, limits: { tokens: 20_000 } }),
});
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

const started = await fetch(`${server.url}/agents/sounder/runs`, {
  method: 'POST',
  headers: { ...headers, 'idempotency-key': 'crossing-17' },
  body: JSON.stringify({ input: { mark: 'bar', draught: 1.8 } }),
});
const { links } = (await started.json()) as { links: { events: string; result: string } };

/** Prints the events of the run, and returns the id of the last one. It disconnects after `most` events. */
async function watch(last = '', most = Number.POSITIVE_INFINITY): Promise<string> {
  const stream = await fetch(`${server.url}${links.events}`, { headers: { ...headers, 'last-event-id': last } });
  let seen = last;
  let rest = '';
  for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + piece).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const [, id = '', event = ''] = /^id: (.*)\nevent: (.*)$/m.exec(frame) ?? [];
      if (id === '') continue;
      if (/^(tool|run|agent)\./.test(event)) console.log(event);
      seen = id;
      most -= 1;
      if (most === 0) return seen;
    }
  }
  return seen;
}
const last = await watch('', 3);
console.log('… disconnected …');
await watch(last);
const result = (await (await fetch(`${server.url}${links.result}`, { headers })).json()) as { text: string };
console.log(result.text);

// Another team uses the service as a tool, made from its OpenAPI document.
const document = (await (await fetch(`${server.url}/openapi.json`, { headers })).json()) as object;
const ask = await httpTool({
  document,
  operationId: 'start_sounder',
  server: server.url,
  localHosts: [new URL(server.url).host],
  headers: { authorization: `Bearer ${token}` },
  fixed: { wait: 30 },
  access: 'read',
});
const mate = defineAgent({ name: 'mate', instructions: 'Ask the sounder.', tools: [ask] });
const model = scriptedModel([
  callTools(toolCall('start_sounder', { body: { input: { mark: 'bar', draught: 1.8 } } })),
  'Aye: the service says yes.',
]);
console.log((await runAgent(mate, 'Can we pass?', { model })).text);

await server.close();
journal.close();
rmSync(folder, { recursive: true });
