import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ConfigurationError, defineAgent, type RunResult, runAgent } from 'coxswain';
import { type HttpToolOptions, httpTool } from 'coxswain/http';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { operationRequest } from '../../../src/interop/http/operation-request.ts';
import { folder } from '../../support/journals.ts';
import { text, turn } from '../../support/turns.ts';
import { served, TOKEN } from './ask.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A service on loopback, and what it was asked. */
async function service(answer: (request: Seen, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { method, url, headers } = request;
    seen.push({ method, url, headers, body });
    answer({ method, url, headers, body }, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, seen };
}

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const pets = (host: string) => ({
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: `http://${host}/{base}`, variables: { base: { default: 'v1' } } }],
  paths: {
    '/pets/{id}': {
      parameters: [{ $ref: '#/components/parameters/Id' }],
      get: {
        operationId: 'get_pet',
        summary: 'Finds a pet.',
        parameters: [
          { name: 'tags', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
          { name: 'Authorization', in: 'header', required: true, schema: { type: 'string' } },
        ],
      },
      put: {
        operationId: 'save_pet',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
      },
      delete: { operationId: 'drop_pet' },
    },
    '/upload': { post: { operationId: 'upload', requestBody: { required: true, content: { 'image/png': {} } } } },
  },
  components: {
    parameters: {
      Id: { name: 'id', in: 'path', required: true, description: 'Its number', schema: { type: 'string' } },
    },
    schemas: {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string' },
          nick: { type: 'string', nullable: true },
          age: { type: 'integer', minimum: 0, exclusiveMinimum: true },
          example: { type: 'string' },
          friends: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
        },
      },
    },
  },
});

async function call(
  options: HttpToolOptions,
  args: unknown,
  more: Parameters<typeof runAgent>[2] = {},
): Promise<RunResult> {
  const tool = await httpTool(options);
  const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools: [tool] });
  const model = scriptedModel([turn([tool.name, args]), text('done')]);
  return runAgent(agent, 'go', { model, permissions: { mode: 'acceptAll' }, ...more });
}
const told = ({ messages }: RunResult) => messages.find((message) => message.role === 'tool');

test('an operation is a tool: its parameters and body in their places, its answer untrusted', async () => {
  const { host, seen } = await service((_, response) => json(response, 200, { name: 'Rex' }));
  const base = { document: pets(host), localHosts: [host], headers: { authorization: 'Bearer key-of-the-service' } };
  const found = await call({ ...base, operationId: 'get_pet' }, { id: 'a/../b c', tags: ['x', 'y&z'], 'X-Trace': '7' });
  expect(seen[0]).toMatchObject({
    method: 'GET',
    url: '/v1/pets/a%2F..%2Fb%20c?tags=x&tags=y%26z',
    headers: { 'x-trace': '7', authorization: 'Bearer key-of-the-service' },
  });
  expect(told(found)).toMatchObject({ isError: false, label: { integrity: 'untrusted' } });
  expect(JSON.parse(String(told(found)?.content))).toEqual({ status: 200, body: { name: 'Rex' } });
  expect(JSON.stringify(found)).not.toContain('key-of-the-service');
  await call({ ...base, operationId: 'save_pet' }, { id: '1', body: { name: 'Rex', nick: null, example: 'e' } });
  expect(seen[1]).toMatchObject({
    method: 'PUT',
    url: '/v1/pets/1',
    headers: { 'content-type': 'application/json' },
    body: '{"name":"Rex","nick":null,"example":"e"}',
  });
});

test('its input is the operation’s, as JSON Schema of today, and its access follows from the method', async () => {
  const document = pets('example.org');
  const save = await httpTool({ document, operationId: 'save_pet' });
  expect(save).toMatchObject({ name: 'save_pet', access: 'send', sideEffect: 'idempotent' });
  expect(save.input.jsonSchema).toMatchObject({
    required: ['id', 'body'],
    properties: { id: { type: 'string', description: 'Its number' }, body: { $ref: '#/$defs/Pet' } },
    $defs: {
      Pet: {
        properties: {
          nick: { type: ['string', 'null'] },
          age: { exclusiveMinimum: 0 },
          example: { type: 'string' },
          friends: { items: { $ref: '#/$defs/Pet' } },
        },
      },
    },
  });
  const get = await httpTool({ document, operationId: 'get_pet' });
  expect(Object.keys(get.input.jsonSchema.properties as object)).toEqual(['id', 'tags', 'X-Trace']);
  expect([get.access, (await httpTool({ document, operationId: 'drop_pet' })).access]).toEqual(['send', 'delete']);
  const hidden = await httpTool({ document, operationId: 'get_pet', fixed: { id: '7' }, access: 'read' });
  expect(hidden).toMatchObject({ access: 'read' });
  expect(Object.keys(hidden.input.jsonSchema.properties as object)).toEqual(['tags', 'X-Trace']);
});

test('a document comes from a file or an address, as JSON or YAML', async () => {
  const { host } = await service(({ url }, response) => {
    if (url === '/openapi.yaml') response.writeHead(200, { 'content-type': 'application/yaml' }).end(yaml);
    else json(response, 200, 'pong');
  });
  const yaml = 'openapi: 3.1.0\npaths:\n  /ping:\n    get:\n      operationId: ping\n      summary: Pings.\n';
  const file = join(folder(), 'pets.json');
  writeFileSync(file, JSON.stringify(pets(host)));
  expect((await httpTool({ document: file, operationId: 'get_pet' })).name).toBe('get_pet');
  const answer = await call({ document: `http://${host}/openapi.yaml`, operationId: 'ping', localHosts: [host] }, {});
  expect(told(answer)?.content).toBe('{"status":200,"body":"pong"}');
});

test('the caller’s own deps give the headers, and nobody sees them', async () => {
  const { host, seen } = await service((_, response) => json(response, 200, {}));
  const headers = ({ deps }: { deps: unknown }) => ({ authorization: `Bearer ${(deps as { key: string }).key}` });
  const shown = await call(
    { document: pets(host), operationId: 'get_pet', localHosts: [host], headers },
    { id: '1' },
    {
      deps: { key: 'of-the-user' },
    },
  );
  expect(seen[0]?.headers.authorization).toBe('Bearer of-the-user');
  expect(JSON.stringify(shown)).not.toContain('of-the-user');
});

describe('what is refused', () => {
  test.each([
    ['a private address', {}, { id: '1' }, 'net_address_denied'],
    ['a name that leads to one', { resolve: async () => ['10.0.0.1'] }, { id: '1' }, 'net_address_denied'],
  ])('%s', async (_name, more, args, code) => {
    const { seen, host } = await service((_, response) => json(response, 200, {}));
    const document = pets('resolve' in more ? 'internal.example' : host);
    const { messages } = await call({ document, operationId: 'get_pet', ...more }, args);
    expect(messages.find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
    expect(JSON.stringify(messages)).toContain('not public');
    expect(code).toBe('net_address_denied');
    expect(seen).toEqual([]);
  });

  test('a redirect to another host, and what else a service may do', async () => {
    const other = await service((_, response) => json(response, 200, 'elsewhere'));
    const { host, seen } = await service(({ url = '' }, response) => {
      if (url.includes('away')) response.writeHead(302, { location: `http://${other.host}/` }).end();
      else if (url.includes('round')) response.writeHead(302, { location: url }).end();
      else if (url.includes('here')) response.writeHead(302, { location: '/v1/pets/end' }).end();
      else if (url.includes('large')) response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(5_000));
      else if (url.includes('missing')) json(response, 404, { problem: 'no such pet' });
      else json(response, 200, 'fine');
    });
    const options = { document: pets(host), operationId: 'get_pet', localHosts: [host], maxBytes: 1_000 };
    const say = async (id: string, more: object = {}) =>
      String(told(await call({ ...options, ...more }, { id }))?.content);
    expect(await say('away')).toContain('not on the list');
    expect(other.seen).toEqual([]);
    expect(
      await say('away', {
        hosts: [other.host],
        localHosts: [host, other.host],
        headers: { authorization: 'Bearer x1' },
      }),
    ).toContain('elsewhere');
    // The key is for the service alone.
    expect(other.seen[0]?.headers.authorization).toBeUndefined();
    expect(await say('round')).toContain('more than 5 redirects');
    expect(await say('here')).toContain('fine');
    expect(await say('large')).toContain('cut after 1000 bytes');
    expect(await say('missing')).toContain('the service answered 404: {"problem":"no such pet"}');
    expect(await say('..')).toContain('cannot stand in a path');
    expect(seen.every(({ url }) => url?.startsWith('/v1/pets/'))).toBe(true);
  });

  test('a redirect of what is no GET, unless it is sent again to the same place', async () => {
    const { host, seen } = await service(({ url = '' }, response) => {
      if (url.endsWith('/again')) response.writeHead(307, { location: '/v1/pets/end' }).end();
      else if (url.endsWith('/lost')) response.writeHead(302, { location: '/v1/pets/end' }).end();
      else json(response, 200, 'saved');
    });
    const options = { document: pets(host), operationId: 'save_pet', localHosts: [host] };
    expect(told(await call(options, { id: 'lost', body: { name: 'x' } }))?.content).toContain(
      'redirects a PUT with 302',
    );
    expect(told(await call(options, { id: 'again', body: { name: 'x' } }))?.content).toContain('saved');
    expect(seen.at(-1)).toMatchObject({ method: 'PUT', body: '{"name":"x"}' });
  });

  test.each<[string, Partial<HttpToolOptions>]>([
    ['document', { document: {} }],
    ['document', { document: '/nowhere.json' }],
    ['operationId', { operationId: 'nothing' }],
    ['operationId', { operationId: 'upload' }],
    ['server', { server: 'ftp://x' }],
    ['server', { server: 'http://user:secret-value@x' }],
    ['server', { server: 'http://:secret-value@x' }],
    ['headers', { headers: { 'bad name': 'secret-value' } }],
    ['headers', { headers: { authorization: 'secret-value\r\nX: 1' } }],
    ['fixed', { fixed: { nothing: 1 } }],
    [
      'document',
      {
        document: {
          ...pets('x'),
          paths: { '/x': { get: { operationId: 'get_pet', parameters: [{ $ref: 'https://evil.example/x' }] } } },
        },
      },
    ],
  ])('a wrong %s', async (field, wrong) => {
    const error = await httpTool({ document: pets('example.org'), operationId: 'get_pet', ...wrong }).catch(
      (thrown) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(`httpTool.${field}`);
    expect(error.message).not.toContain('secret-value');
  });
});

test('whatever a model writes, only the operation’s own path is asked', () => {
  const parameter = { key: 'id', name: 'id', in: 'path', style: 'simple', explode: false } as const;
  const operation = { method: 'GET', path: '/a/{id}/b', server: '', summary: '', hasBody: false, input: {} };
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (id) => {
      let url: string;
      try {
        url = operationRequest({ ...operation, parameters: [parameter] }, new URL('https://x.org/v1/'), { id }).url;
      } catch (thrown) {
        expect(['', '.', '..']).toContain(id);
        expect(thrown).toMatchObject({ kind: 'invalid_args' });
        return;
      }
      expect(url).toMatch(/^https:\/\/x\.org\/v1\/a\/[^/?#]+\/b$/);
    }),
  );
});

test('a served agent is a tool again, by its own document', async () => {
  const worker = defineAgent({ name: 'worker', description: 'Works.', instructions: 'Work.' });
  const { url } = await served({ agents: [worker], token: TOKEN, run: { model: scriptedModel([text('from afar')]) } });
  const { host } = new URL(url);
  const { body } = {
    body: await (await fetch(`${url}/openapi.json`, { headers: { authorization: `Bearer ${TOKEN}` } })).json(),
  };
  const options = {
    document: body as object,
    operationId: 'start_worker',
    server: url,
    localHosts: [host],
    headers: { authorization: `Bearer ${TOKEN}` },
    fixed: { wait: 30 },
  };
  const result = await call(options, { body: { input: 'go' } });
  expect(told(result)).toMatchObject({ isError: false });
  expect(String(told(result)?.content)).toContain('from afar');
});
