import type { JsonSchema } from '../../core/schema/schema.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { localSchema, resolved } from './openapi-schema.ts';

/** One parameter of an operation, under the name that the model writes it by. */
export interface OperationParameter {
  readonly key: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly style: 'simple' | 'form' | 'deepObject' | 'json';
  readonly explode: boolean;
}

/** An operation of an OpenAPI document, ready to be called. */
export interface Operation {
  readonly method: string;
  /** With `{name}` for its path parameters. */
  readonly path: string;
  readonly server: string | undefined;
  readonly summary: string;
  readonly parameters: readonly OperationParameter[];
  readonly hasBody: boolean;
  /** Of one object: parameters by their names, `body` for the body. */
  readonly input: JsonSchema;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head'];
/** Headers of the connection, the host or credentials: no model writes these. */
const OWN_HEADERS =
  /^(?:accept|authorization|connection|content-.*|cookie|host|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/i;

/** Finds an operation by its id. @throws ConfigurationError if it is missing, or names what cannot be called. */
export function readOperation(field: string, document: Json, operationId: unknown): Operation {
  if (!isPlainObject(document) || !/^3\./.test(String(document.openapi)) || !isPlainObject(document.paths))
    throw new ConfigurationError(
      `${field}.document`,
      'this is no OpenAPI 3 document',
      'Pass one of version 3.0 or 3.1.',
    );
  const ids: string[] = [];
  for (const [path, given] of Object.entries(document.paths)) {
    const item = resolved(field, document, given);
    for (const method of METHODS) {
      const operation = item[method];
      if (!isPlainObject(operation)) continue;
      ids.push(String(operation.operationId));
      if (operation.operationId === operationId) return operationOf(field, document, { path, method, item, operation });
    }
  }
  throw new ConfigurationError(
    `${field}.operationId`,
    `the document has no operation ${JSON.stringify(operationId)}`,
    `It has ${ids.slice(0, 20).join(', ') || 'none'}.`,
  );
}

type Doc = { readonly [key: string]: unknown };

function operationOf(
  field: string,
  document: Doc,
  { path, method, item, operation }: { path: string; method: string; item: Doc; operation: Doc },
): Operation {
  const of = (given: unknown) => (Array.isArray(given) ? given : []).map((one) => resolved(field, document, one));
  // Parameters of the operation override those of its path.
  const merged = new Map(
    [...of(item.parameters), ...of(operation.parameters)].map((one) => [`${one.in} ${one.name}`, one]),
  );
  const definitions = new Map<string, Json>();
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  const parameters: OperationParameter[] = [];
  for (const parameter of merged.values()) {
    const read = parameterOf(`${field}.operationId`, parameter, properties);
    if (read === undefined) continue;
    const media = isPlainObject(parameter.content) ? Object.values(parameter.content)[0] : undefined;
    const schema = isPlainObject(media) ? media.schema : parameter.schema;
    properties[read.key] = described(localSchema(field, document, schema, definitions), parameter.description);
    if (parameter.required === true || read.in === 'path') required.push(read.key);
    parameters.push(read);
  }
  const body = bodyOf(field, document, operation);
  if (body !== undefined) {
    properties.body = described(localSchema(field, document, body.schema, definitions), body.description);
    if (body.required) required.push('body');
  }
  const servers = [operation.servers, item.servers, document.servers].find(
    (one) => Array.isArray(one) && one.length > 0,
  );
  return {
    method: method.toUpperCase(),
    path,
    server: serverUrl(Array.isArray(servers) ? servers[0] : undefined),
    summary: [operation.summary, operation.description]
      .filter((one) => typeof one === 'string' && one !== '')
      .join(' '),
    parameters,
    hasBody: body !== undefined,
    input: {
      type: 'object',
      properties,
      required,
      additionalProperties: false,
      ...(definitions.size > 0 && { $defs: Object.fromEntries(definitions) }),
    },
  };
}

function parameterOf(field: string, parameter: Doc, taken: object): OperationParameter | undefined {
  const { name, in: location } = parameter;
  const cannot = (problem: string) =>
    new ConfigurationError(field, `the parameter ${String(name)} ${problem}`, 'Write a tool of your own for it.');
  if (typeof name !== 'string' || name === '') throw cannot('has no name');
  if (location === 'header' && OWN_HEADERS.test(name)) return undefined;
  if (location !== 'path' && location !== 'query' && location !== 'header') {
    if (parameter.required === true) throw cannot(`is one of ${String(location)}`);
    return undefined;
  }
  const { style = location === 'query' ? 'form' : 'simple', explode = style === 'form' } = parameter;
  const isJson = isPlainObject(parameter.content);
  if (!isJson && style !== 'simple' && style !== 'form' && style !== 'deepObject')
    throw cannot(`has the style ${String(style)}`);
  const key = Object.hasOwn(taken, name) || name === 'body' ? `${location}_${name}` : name;
  return { key, name, in: location, style: isJson ? 'json' : (style as 'simple'), explode: explode === true };
}

function bodyOf(field: string, document: Doc, { requestBody }: Doc) {
  if (requestBody === undefined) return undefined;
  const body = resolved(field, document, requestBody);
  const content = isPlainObject(body.content) ? body.content : {};
  const type = Object.keys(content).find((one) => /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i.test(one));
  const media = type === undefined ? undefined : content[type];
  if (isPlainObject(media))
    return { schema: media.schema, description: body.description, required: body.required === true };
  if (body.required !== true) return undefined;
  throw new ConfigurationError(
    `${field}.operationId`,
    `its body is ${Object.keys(content).join(', ') || 'of no type'}`,
    'Only JSON bodies can be sent; write a tool of your own for it.',
  );
}

/** The server's URL with its variables replaced by their defaults. */
function serverUrl(server: unknown): string | undefined {
  if (!isPlainObject(server) || typeof server.url !== 'string') return undefined;
  const variables = isPlainObject(server.variables) ? server.variables : {};
  return server.url.replace(/\{([^}]+)\}/g, (placeholder, name: string) => {
    const variable = variables[name];
    return isPlainObject(variable) ? String(variable.default) : placeholder;
  });
}

function described(schema: Json, description: unknown): Json {
  if (!isPlainObject(schema) || typeof description !== 'string' || schema.description !== undefined) return schema;
  return { ...(schema as { [key: string]: Json }), description };
}
