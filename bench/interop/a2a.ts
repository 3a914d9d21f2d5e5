import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Role, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory } from '@a2a-js/sdk/client';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  defaultServerCallContextBuilder,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
} from '@a2a-js/sdk/server';
import { runAgent } from 'coxswain';
import { serveA2A } from 'coxswain/a2a';
import { type Integration, model, QUESTION, worker } from '../integration.ts';

async function ask(client: Client): Promise<unknown> {
  const answer = (await client.sendMessage({
    ...{ tenant: '', configuration: undefined, metadata: {} },
    message: {
      ...{ messageId: crypto.randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, metadata: {} },
      parts: [{ content: { $case: 'data', value: QUESTION }, metadata: {}, filename: '', mediaType: '' }],
      ...{ extensions: [], referenceTaskIds: [] },
    },
  })) as Task;
  const texts = answer.artifacts[0]?.parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []));
  return texts?.at(-1);
}

/** The same worker by the SDK's own means, as its documentation writes an executor. */
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const submitted = status(TaskState.TASK_STATE_WORKING);
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: submitted,
        history: [userMessage],
        artifacts: [],
        metadata: {},
      }),
    );
    const { text } = await runAgent(worker, userMessage.parts[0]?.content?.value as never, { model });
    const part = { content: { $case: 'text' as const, value: text }, metadata: {}, filename: '', mediaType: '' };
    const artifact = { artifactId: 'a', name: 'a', description: '', parts: [part], metadata: {}, extensions: [] };
    bus.publish(
      AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: {} }),
    );
    const completed = status(TaskState.TASK_STATE_COMPLETED);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: {} }));
  },
  async cancelTask() {},
};

function byHand(card: () => AgentCard) {
  const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card(), new InMemoryTaskStore(), executor));
  return createServer(async (request, response) => {
    const send = (value: unknown) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (request.method === 'GET') return send(AgentCard.toJSON(card()));
    let body = '';
    for await (const piece of request) body += piece;
    const { headers } = request;
    const context = defaultServerCallContextBuilder({
      headers,
      user: undefined,
      extensions: [],
      requestedVersion: '1.0',
    });
    send(await rpc.handle(JSON.parse(body), context));
  });
}

export const integration: Integration = {
  name: 'a2a',
  goal: { ratio: 1.2 },
  async prepare() {
    const ours = await serveA2A({ agents: [worker], run: { model } });
    const given = await (await fetch(`${ours.url}/.well-known/agent-card.json`)).json();
    let url = '';
    const own = byHand(() => {
      const card = AgentCard.fromJSON(given);
      const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }];
      return { ...card, supportedInterfaces };
    });
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
    const factory = new ClientFactory();
    const [mine, theirs] = [await factory.createFromUrl(`${ours.url}/`), await factory.createFromUrl(`${url}/`)];
    return {
      own: () => ask(theirs),
      ours: () => ask(mine),
      async close() {
        own.closeAllConnections();
        own.close();
        await ours.close();
      },
    };
  },
};
