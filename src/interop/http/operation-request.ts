import { ToolError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Operation, OperationParameter } from './openapi-operation.ts';

/** The request of one call. */
export interface OperationRequest {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | undefined;
}

/** Puts the arguments of a call into path, query, headers and body. @throws ToolError `invalid_args` if an argument is not allowed there. */
export function operationRequest(
  { path, parameters, hasBody }: Operation,
  base: URL,
  args: { readonly [key: string]: Json },
): OperationRequest {
  const given = parameters.filter(({ key }) => args[key] !== undefined);
  const filled = path.replace(/\{([^}]+)\}/g, (placeholder, name: string) => {
    const parameter = given.find((one) => one.in === 'path' && one.name === name);
    return parameter === undefined ? placeholder : segment(parameter, args[parameter.key]);
  });
  const url = new URL(`${base.href.replace(/\/+$/, '')}${filled}`);
  const headers: Record<string, string> = {};
  for (const parameter of given) {
    const value = args[parameter.key] ?? null;
    if (parameter.in === 'query')
      for (const [name, text] of pairs(parameter, value)) url.searchParams.append(name, text);
    if (parameter.in === 'header') headers[parameter.name] = headerText(parameter, value);
  }
  const body = hasBody && args.body !== undefined ? JSON.stringify(args.body) : undefined;
  return {
    url: url.href,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body,
  };
}

/** One encoded segment of the path: no value can change the rest of the path. */
function segment(parameter: OperationParameter, value: Json | undefined): string {
  const text = plainText(value ?? null);
  if (text === '' || text === '.' || text === '..')
    throw new ToolError('invalid_args', `$.${parameter.key}: ${JSON.stringify(text)} cannot stand in a path`);
  return encodeURIComponent(text.toWellFormed());
}

function pairs({ key, name, style, explode }: OperationParameter, value: Json): readonly (readonly [string, string])[] {
  if (style === 'json') return [[name, JSON.stringify(value)]];
  if (Array.isArray(value)) {
    const texts = value.map(plainText);
    return explode ? texts.map((text) => [name, text] as const) : [[name, texts.join(',')]];
  }
  if (isPlainObject(value)) {
    const entries = Object.entries(value as { readonly [key: string]: Json });
    if (style === 'deepObject') return entries.map(([part, one]) => [`${name}[${part}]`, plainText(one)]);
    if (explode) return entries.map(([part, one]) => [part, plainText(one)]);
    throw new ToolError('invalid_args', `$.${key}: an object cannot stand here`);
  }
  return [[name, plainText(value)]];
}

function headerText({ key, style }: OperationParameter, value: Json): string {
  const text = style === 'json' ? JSON.stringify(value) : plainText(value);
  if (/[^\t\x20-\x7e]/.test(text))
    throw new ToolError('invalid_args', `$.${key}: a header holds visible ASCII characters alone`);
  return text;
}

function plainText(value: Json): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(plainText).join(',');
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
