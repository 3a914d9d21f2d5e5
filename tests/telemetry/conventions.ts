import { readFileSync } from 'node:fs';
import { attributesOf, type WireSpan } from './receiver.ts';

interface SpanKind {
  operation: (string | null)[];
  name_regex: string;
  span_kind: string[];
  required: string[];
  conditionally_required: Record<string, string>;
  recommended?: string[];
  opt_in?: string[];
  forbidden?: string[];
  extends?: string;
}

interface Conventions {
  span_kinds: Record<string, SpanKind>;
  attribute_types: Record<string, string>;
  wire_types: Record<string, string[]>;
  deprecated_attributes: { key: string }[];
  deprecated_patterns: string[];
  coxswain: { attributes: Record<string, string> };
}

const conventions = JSON.parse(readFileSync(new URL('otel-genai.json', import.meta.url), 'utf8')) as Conventions;

/** Attributes of coxswain's own that the facts do not suggest. */
const OWN: Record<string, string> = {
  'coxswain.cost_usd': 'double',
  'coxswain.link.span_id': 'string',
  'coxswain.link.trace_id': 'string',
  'coxswain.mcp.server': 'string',
  'coxswain.mcp.tool': 'string',
  'coxswain.model': 'string',
  'coxswain.run.forked_from': 'string',
  'coxswain.run.parent': 'string',
};
const own = { ...conventions.coxswain.attributes, ...OWN };

const KINDS = ['', 'INTERNAL', 'SERVER', 'CLIENT'];
// Kinds that coxswain does not make, or that only add to another.
const OTHERS = new Set([
  'invoke_agent_remote',
  'execute_tool_delegate',
  'mcp_client',
  'mcp_server',
  'create_agent',
  'plan',
  'retrieval',
]);

/** What is wrong with a span by the conventions; empty where it is one span kind of theirs and nothing else. */
export function faultsOf(span: WireSpan): string[] {
  const attributes = attributesOf(span);
  const kinds = Object.entries(conventions.span_kinds).filter(
    ([id, kind]) => !OTHERS.has(id) && kind.operation.includes(String(attributes['gen_ai.operation.name'])),
  );
  const [found] = kinds;
  if (found === undefined || kinds.length !== 1) return [`${span.name}: ${kinds.length} kinds fit`];
  const [id, kind] = found;
  const allowed = new Set([
    ...kind.required,
    ...Object.keys(kind.conditionally_required),
    ...(kind.recommended ?? []),
    ...(kind.opt_in ?? []),
    ...Object.keys(own),
    // The span of the call stands for the request to the server as well.
    ...(attributes['mcp.method.name'] === undefined ? [] : namesOf('mcp_client')),
  ]);
  const faults: string[] = [];
  if (!new RegExp(kind.name_regex).test(span.name)) faults.push(`name ${span.name}`);
  if (!kind.span_kind.includes(KINDS[span.kind] ?? '')) faults.push(`kind ${span.kind}`);
  for (const key of kind.required) if (attributes[key] === undefined) faults.push(`misses ${key}`);
  for (const key of kind.forbidden ?? []) if (attributes[key] !== undefined) faults.push(`has ${key}`);
  for (const { key, value } of span.attributes) {
    if (!allowed.has(key)) faults.push(`does not know ${key}`);
    const type = conventions.attribute_types[key] ?? own[key] ?? '';
    if (!conventions.wire_types[type]?.includes(Object.keys(value)[0] ?? '')) faults.push(`${key} is no ${type}`);
  }
  const failed = span.status.code === 2;
  if (failed !== (attributes['error.type'] !== undefined))
    faults.push('error.type where it did not fail, or none where it did');
  if (span.status.code === 1) faults.push('status Ok');
  return [...faults, ...deprecatedIn(span)].map((fault) => `${id} ${span.name}: ${fault}`);
}

function namesOf(id: string): string[] {
  const kind = conventions.span_kinds[id];
  if (kind === undefined) throw new Error(`no span kind ${id}`);
  return [...kind.required, ...Object.keys(kind.conditionally_required), ...(kind.recommended ?? [])];
}

function deprecatedIn(span: WireSpan): string[] {
  const keys = [...span.attributes, ...(span.events ?? []).flatMap((event) => event.attributes ?? [])].map(
    ({ key }) => key,
  );
  const old = new Set(conventions.deprecated_attributes.map(({ key }) => key));
  const patterns = conventions.deprecated_patterns.map((pattern) => new RegExp(pattern));
  return keys
    .filter((key) => old.has(key) || patterns.some((pattern) => pattern.test(key)))
    .map((key) => `deprecated ${key}`);
}
