import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { ModelIn, RunIn, ToolIn } from '../../core/contract/boundary.ts';
import type { SpanStart } from '../../core/contract/instrument.ts';
import type { NodeRef } from '../../core/contract/record.ts';
import type { McpFacts } from '../../core/contract/tool.ts';
import type { Json } from '../../core/values/json.ts';
import type { ModelSettings } from '../../core/values/model.ts';

/** What a span has when it is created, which samplers see; other attributes follow. */
export interface InitialSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

/** Name, kind and first attributes of the span that a record starts (OpenTelemetry's GenAI conventions after 1.41). */
export function initialSpan(start: SpanStart): InitialSpan {
  switch (start.kind) {
    case 'run': {
      const { agent, team } = start.request;
      if (!team) return agentSpan(agent, undefined);
      const attributes = { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': agent };
      return { name: `invoke_workflow ${agent}`, kind: SpanKind.INTERNAL, attributes };
    }
    case 'agent':
      return agentSpan(start.request.agent, start.request.model);
    case 'model': {
      const attributes = { 'gen_ai.operation.name': 'chat', ...endpoint(start.request) };
      return { name: `chat ${start.request.modelId}`, kind: SpanKind.CLIENT, attributes };
    }
    case 'tool': {
      const { name } = start.request;
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        'gen_ai.agent.name': start.node.agent,
      };
      return { name: `execute_tool ${name}`, kind: SpanKind.INTERNAL, attributes };
    }
    case 'embedding': {
      const [provider, model] = embedder(start.request);
      const attributes = {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': model,
      };
      return { name: `embeddings ${model}`, kind: SpanKind.CLIENT, attributes };
    }
    case 'memory': {
      const operation = memoryOperation(start.request.operation);
      return { name: operation, kind: SpanKind.INTERNAL, attributes: { 'gen_ai.operation.name': operation } };
    }
  }
}

/** Adds the attributes that a span has at its start beside its first ones, without content. `transfer`: also the proposed attributes of delegates. */
export function addStartAttributes(attributes: Attributes, start: SpanStart, transfer: boolean): Attributes {
  addNode(attributes, start.run, start.node, start.step);
  if (start.waitedMs !== undefined) attributes['coxswain.queue.wait_ms'] = start.waitedMs;
  switch (start.kind) {
    case 'run':
      // A run's start has the epoch for its attempt.
      attributes['coxswain.run.attempt'] = start.attempt;
      return Object.assign(attributes, originAttributes(start.request));
    case 'agent':
      if (start.request.description !== '') attributes['gen_ai.agent.description'] = start.request.description;
      if (start.request.model !== undefined) attributes['gen_ai.request.model'] = modelId(start.request.model);
      return attributes;
    case 'model':
      addSettings(attributes, start.request.settings);
      if (start.request.stream) attributes['gen_ai.request.stream'] = true;
      if (start.request.output !== undefined) attributes['gen_ai.output.type'] = 'json';
      return attributes;
    case 'tool':
      return Object.assign(attributes, toolAttributes(start.request, transfer));
    case 'embedding':
      if (typeof start.request.dimensions === 'number') {
        attributes['gen_ai.embeddings.dimension.count'] = start.request.dimensions;
      }
      return attributes;
    case 'memory': {
      const { store, id } = start.request;
      if (typeof store === 'string') attributes['gen_ai.memory.store.id'] = store;
      if (typeof id === 'string') attributes['gen_ai.memory.record.id'] = id;
      return attributes;
    }
  }
}

function agentSpan(agent: string, model: string | undefined): InitialSpan {
  const attributes: Attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent };
  if (model !== undefined) attributes['gen_ai.request.model'] = modelId(model);
  return { name: `invoke_agent ${agent}`, kind: SpanKind.INTERNAL, attributes };
}

/** `provider/id` → `id`, which may hold slashes itself. */
function modelId(model: string): string {
  return model.slice(model.indexOf('/') + 1);
}

const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  vertex: 'gcp.vertex_ai',
  watsonx: 'ibm.watsonx.ai',
  xai: 'x_ai',
};

/** The conventions' name of a provider, where they have one. */
export function providerName(provider: string): string {
  return PROVIDERS[provider] ?? provider;
}

function endpoint({ provider, modelId, server }: ModelIn): Attributes {
  const attributes: Attributes = {
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': modelId,
  };
  if (server !== undefined) {
    attributes['server.address'] = server.address;
    if (server.port !== undefined) attributes['server.port'] = server.port;
  }
  return attributes;
}

type Facts = { readonly [key: string]: Json | undefined };

/** Provider and model of an embedder, whose id names both: `openai/text-embedding-3-small`. */
export function embedder(facts: Facts): [provider: string, model: string] {
  const id = textOr(facts.model ?? facts.embedder, 'embedder');
  const provider = textOr(facts.provider, id.includes('/') ? id.slice(0, id.indexOf('/')) : id);
  return [providerName(provider), facts.provider === undefined ? modelId(id) : id];
}

function textOr(value: Json | undefined, other: string): string {
  return typeof value === 'string' && value !== '' ? value : other;
}

/** The conventions' names of what a memory can do. */
function memoryOperation(operation: Json | undefined): string {
  switch (operation) {
    case 'add':
    case 'save':
    case 'create':
    case 'create_memory':
      return 'create_memory';
    case 'update':
    case 'update_memory':
    case 'consolidate_memory':
      return 'update_memory';
    case 'upsert':
    case 'upsert_memory':
    case 'accept_proposal':
      return 'upsert_memory';
    case 'remove':
    case 'delete':
    case 'delete_memory':
    case 'reject_proposal':
      return 'delete_memory';
    default:
      return 'search_memory';
  }
}

/** The run, node and step of a span, as coxswain's own attributes. */
function addNode(attributes: Attributes, run: string, { path, parentStep }: NodeRef, step: number): void {
  attributes['coxswain.run.id'] = run;
  attributes['coxswain.path'] = path;
  if (step > 0) attributes['coxswain.step'] = step;
  if (parentStep !== undefined) {
    attributes['coxswain.parent_step'] = parentStep.step;
    attributes['coxswain.parent_step.path'] = parentStep.path;
    attributes['coxswain.parent_step.tool_call_id'] = parentStep.toolCallId;
  }
}

/** The link again, as attributes: trace views drop those of links, and search only these. */
function originAttributes({ from, forkedFrom, parentRun }: RunIn): Attributes {
  const attributes: Attributes = {};
  if (parentRun !== undefined) attributes['coxswain.run.parent'] = parentRun;
  if (forkedFrom !== undefined) attributes['coxswain.run.forked_from'] = forkedFrom;
  if (from === undefined) return attributes;
  if (from.type === 'resume') attributes['coxswain.run.resumed'] = true;
  attributes['coxswain.link.type'] = from.type;
  attributes['coxswain.link.trace_id'] = from.traceId;
  attributes['coxswain.link.span_id'] = from.spanId;
  return attributes;
}

function toolAttributes({ callId, description, delegate, mcp }: ToolIn, transfer: boolean): Attributes {
  const attributes: Attributes = { 'gen_ai.tool.call.id': callId };
  if (mcp !== undefined) Object.assign(attributes, mcpAttributes(mcp));
  if (description !== '') attributes['gen_ai.tool.description'] = description;
  if (delegate !== undefined && transfer) {
    attributes['gen_ai.transfer.mode'] = 'return_to_caller';
    attributes['gen_ai.transfer.target.name'] = delegate;
  }
  return attributes;
}

/** The span of the call is also the span of the request: the conventions want no second one. */
function mcpAttributes({ server, tool, protocol, transport, address, port }: McpFacts): Attributes {
  return {
    'mcp.method.name': 'tools/call',
    'mcp.protocol.version': protocol,
    'network.transport': transport,
    ...(transport === 'tcp' && { 'network.protocol.name': 'http' }),
    ...(address !== undefined && { 'server.address': address }),
    ...(port !== undefined && { 'server.port': port }),
    'coxswain.mcp.server': server,
    'coxswain.mcp.tool': tool,
  };
}

const SETTINGS: readonly (readonly [
  setting: string,
  attribute: string,
  type: 'number' | 'int' | 'string' | 'texts',
])[] = [
  ['maxOutputTokens', 'gen_ai.request.max_tokens', 'int'],
  ['temperature', 'gen_ai.request.temperature', 'number'],
  ['topP', 'gen_ai.request.top_p', 'number'],
  ['topK', 'gen_ai.request.top_k', 'int'],
  ['seed', 'gen_ai.request.seed', 'int'],
  ['frequencyPenalty', 'gen_ai.request.frequency_penalty', 'number'],
  ['presencePenalty', 'gen_ai.request.presence_penalty', 'number'],
  ['stopSequences', 'gen_ai.request.stop_sequences', 'texts'],
  ['reasoningEffort', 'gen_ai.request.reasoning.level', 'string'],
];

/** The settings that a trace shows. Other settings are left out, since they may contain content. */
export function knownSettings(settings: ModelSettings): { readonly [setting: string]: Json } {
  const known: { [setting: string]: Json } = {};
  for (const [name] of SETTINGS) {
    const value = settings[name];
    if (value !== undefined) known[name] = value;
  }
  return known;
}

function addSettings(attributes: Attributes, settings: ModelSettings): void {
  for (const [setting, attribute, type] of SETTINGS) {
    const value = settings[setting];
    if (type === 'number' && typeof value === 'number') attributes[attribute] = value;
    if (type === 'int' && Number.isSafeInteger(value)) attributes[attribute] = Number(value);
    if (type === 'string' && typeof value === 'string') attributes[attribute] = value;
    if (type === 'texts' && Array.isArray(value)) attributes[attribute] = value.map(String);
  }
}
