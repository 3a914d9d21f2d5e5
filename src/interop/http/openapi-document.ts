import type { JsonSchema } from '../../core/schema/schema.ts';
import type { HttpSettings } from './http-options.ts';

type Doc = { readonly [key: string]: unknown };

/** The OpenAPI 3.1 document of a server: a path for each agent, with its own input. */
export function openApiDocument({ agents, basePath, guard, full }: HttpSettings): Doc {
  const starts = [...agents.values()].map(({ name, description, input, output, type }) => {
    const own = { ...embedded(`${name}:input`, input.jsonSchema) };
    const taken = type === 'model' ? { anyOf: [{ type: 'string', minLength: 1 }, own] } : own;
    const answer = output === undefined ? undefined : embedded(`${name}:output`, output.jsonSchema);
    return [`/agents/${name}/runs`, { post: startOperation(name, description, taken, answer) }] as const;
  });
  return {
    openapi: '3.1.0',
    info: { title: 'Agents served by coxswain', version: '1' },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    paths: { ...OWN_PATHS, ...Object.fromEntries(starts), ...runPaths() },
    components: {
      schemas: { ...SCHEMAS, ...(full && { Result: FULL_RESULT }) },
      ...(guard.needsToken && { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(guard.needsToken && { security: [{ token: [] }] }),
  };
}

/** A schema as a separate document, so that its references stay within it. */
function embedded(name: string, schema: JsonSchema): Doc {
  return JSON.stringify(schema).includes('"$ref"') ? { $id: `urn:coxswain:${name}`, ...schema } : schema;
}

function startOperation(name: string, description: string, input: Doc, output: Doc | undefined): Doc {
  const run = output === undefined ? ref('Run') : { allOf: [ref('Run'), resultWith(output)] };
  return {
    operationId: `start_${name}`,
    summary: `Starts a run of ${name}.`,
    description,
    parameters: [
      WAIT,
      {
        name: 'Idempotency-Key',
        in: 'header',
        description: 'The same key with the same input gives the same run.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    ],
    requestBody: body({ type: 'object', properties: { input }, required: ['input'], additionalProperties: false }),
    responses: {
      201: { description: 'The run was started; it is over where it was waited for.', ...content(run) },
      200: { description: 'This Idempotency-Key had started it.', ...content(run) },
      ...PROBLEMS,
    },
  };
}

function resultWith(output: Doc): Doc {
  return { type: 'object', properties: { result: { type: 'object', properties: { output } } } };
}

function runPaths(): Doc {
  const id = { name: 'runId', in: 'path', required: true, schema: { type: 'string' } };
  const view = { 200: { description: 'How the run stands.', ...content(ref('Run')) }, ...PROBLEMS };
  return {
    '/runs/{runId}': {
      parameters: [id],
      get: { operationId: 'get_run', summary: 'How a run stands.', parameters: [WAIT], responses: view },
    },
    '/runs/{runId}/result': {
      parameters: [id],
      get: {
        operationId: 'get_result',
        summary: 'What a run gave.',
        parameters: [WAIT],
        responses: {
          200: { description: 'What it gave, or what it is suspended for.', ...content(ref('Result')) },
          202: { description: 'It is still under way.', ...content(ref('Run')) },
          ...PROBLEMS,
        },
      },
    },
    '/runs/{runId}/events': { parameters: [id], get: EVENTS },
    '/runs/{runId}/decide': {
      parameters: [id],
      post: {
        operationId: 'decide',
        summary: 'Answers a request of a run.',
        requestBody: body(ref('Decision')),
        responses: view,
      },
    },
    '/runs/{runId}/cancel': {
      parameters: [id],
      post: {
        operationId: 'cancel_run',
        summary: 'Stops a run, or the node at a path and all below it.',
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { path: { type: 'string' }, reason: { type: 'string' } },
                additionalProperties: false,
              },
            },
          },
        },
        responses: view,
      },
    },
  };
}

function ref(name: string): Doc {
  return { $ref: `#/components/schemas/${name}` };
}

function content(schema: Doc): Doc {
  return { content: { 'application/json': { schema } } };
}

function body(schema: Doc): Doc {
  return { required: true, ...content(schema) };
}

const PROBLEMS: Doc = {
  default: {
    description: 'A problem (RFC 9457).',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  },
};

const WAIT: Doc = {
  name: 'wait',
  in: 'query',
  description: 'Seconds to wait for the end of the run.',
  schema: { type: 'integer', minimum: 0, maximum: 120 },
};

const EVENTS: Doc = {
  operationId: 'run_events',
  summary: 'The events of a run, as Server-Sent Events.',
  parameters: [
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'Goes on after this event: its id is key:attempt:chunk.',
      schema: { type: 'string' },
    },
  ],
  responses: {
    200: {
      description: 'Events until the run is over or suspended.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    204: { description: 'It is over, and nothing is left to be sent.' },
    ...PROBLEMS,
  },
};

const OWN_PATHS: Doc = {
  '/agents': {
    get: {
      operationId: 'list_agents',
      summary: 'The agents, with the JSON Schema of their input.',
      responses: { 200: { description: 'The agents.', ...content({ type: 'object' }) }, ...PROBLEMS },
    },
  },
  '/runs': {
    get: {
      operationId: 'list_runs',
      summary: 'The runs of this client.',
      responses: { 200: { description: 'The runs.', ...content({ type: 'object' }) }, ...PROBLEMS },
    },
  },
};

const RESULT: Doc = {
  type: 'object',
  required: ['runId', 'status', 'text', 'usage'],
  properties: {
    runId: { type: 'string' },
    traceId: { type: 'string' },
    status: { type: 'string' },
    text: { type: 'string' },
    output: {},
    error: { $ref: '#/components/schemas/Error' },
    pending: { type: 'array', items: { type: 'object' } },
    usage: { type: 'object' },
    costUsd: { type: 'number' },
    steps: { type: 'integer' },
    toolCalls: { type: 'integer' },
  },
};

const FULL_RESULT: Doc = {
  ...RESULT,
  properties: { ...(RESULT.properties as Doc), messages: { type: 'array' }, tree: { type: 'object' } },
};

const SCHEMAS: Doc = {
  Run: {
    type: 'object',
    required: ['runId', 'agent', 'status', 'pending', 'links'],
    properties: {
      runId: { type: 'string' },
      agent: { type: 'string' },
      status: { type: 'string', description: 'running, suspended, failed, or how it ended' },
      traceId: { type: 'string' },
      tree: { type: 'object' },
      pending: { type: 'array', description: 'Requests that wait for an answer.', items: { type: 'object' } },
      result: { $ref: '#/components/schemas/Result' },
      error: { $ref: '#/components/schemas/Error' },
      links: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  Result: RESULT,
  Error: {
    type: 'object',
    required: ['kind', 'message'],
    properties: { kind: { type: 'string' }, message: { type: 'string' }, retryable: { type: 'boolean' } },
  },
  Decision: {
    type: 'object',
    required: ['id', 'decision'],
    properties: {
      id: { type: 'string' },
      decision: { enum: ['allow', 'deny', 'happened', 'retry', 'failed', 'answer'] },
      reason: { type: 'string' },
      always: { type: 'boolean' },
      args: {},
      value: {},
    },
    additionalProperties: false,
  },
  Problem: {
    type: 'object',
    required: ['type', 'title', 'status'],
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
    },
  },
};
