import type { AgentOut, ModelIn, ToolIn } from '../../src/core/contract/boundary.ts';
import type { Message } from '../../src/core/values/message.ts';
import type { ToolOut } from '../../src/core/values/tool-value.ts';
import { node, type recorder, spanOf } from './recorder.ts';

/** A text that must be nowhere when content is off. */
export const CANARY = 'canary-7f3d9b';

export const user = (text: string): Message => ({ role: 'user', content: `${text} ${CANARY}` });

export function modelIn(messages: readonly Message[], from = 0, more: Partial<ModelIn> = {}): ModelIn {
  return {
    model: 'openai/gpt-5',
    provider: 'openai',
    modelId: 'gpt-5',
    server: { address: '127.0.0.1', port: 8080 },
    instructions: `Be brief ${CANARY}`,
    messages,
    from,
    tools: [{ name: 'search', description: `Search ${CANARY}`, parameters: { type: 'object' } }],
    settings: { temperature: 0.2, maxOutputTokens: 4096 },
    stream: false,
    ...more,
  };
}

export const usage = { inputTokens: 10, outputTokens: 4, cachedInputTokens: 6, modelCalls: 1, modelCallsWithUsage: 1 };

export function agentOut(more: Partial<AgentOut> = {}): AgentOut {
  return { status: 'completed', text: `Done ${CANARY}`, ownUsage: usage, usage, steps: 1, toolCalls: 0, ...more };
}

export function toolIn(more: Partial<ToolIn> = {}): ToolIn {
  return { name: 'search', description: 'Search', callId: 'call_a', args: { query: CANARY }, ...more };
}

export function toolOut(more: Partial<ToolOut> = {}): ToolOut {
  const label = { integrity: 'untrusted', confidentiality: 'public', origins: [] } as const;
  return { content: `hits ${CANARY}`, isError: false, label, ...more };
}

export const calls = (id: string, name: string) =>
  ({ type: 'tool_call', id, name, arguments: `{"query":"${CANARY}"}` }) as const;

/** `lead` delegates to `researcher` and answers: every kind of span but the memory's, one retry, one approval. */
export function writeTeam(to: ReturnType<typeof recorder>): void {
  const lead = node('lead', 'lead');
  const first = user('Compare');
  const agent = spanOf('agent', 'lead');
  to.add({
    kind: 'run',
    event: 'started',
    key: 'lead',
    node: lead,
    step: 0,
    request: { agent: 'lead', team: true, input: [first] },
  });
  to.add(
    {
      kind: 'agent',
      event: 'started',
      key: 'lead',
      node: lead,
      step: 0,
      request: { agent: 'lead', description: 'Leads', type: 'model', brief: [first], model: 'openai/gpt-5', depth: 1 },
    },
    spanOf('run', 'lead'),
  );
  const call = calls('call_a', 'delegate_researcher');
  to.add({ kind: 'step', event: 'started', key: 'lead/1', node: lead, step: 1 }, agent);
  const model = { kind: 'model', key: 'lead/1/model', node: lead, step: 1 } as const;
  to.add({ ...model, event: 'started', request: modelIn([first]) }, agent);
  to.add(
    { ...model, event: 'retry', value: { kind: 'rate_limit', message: `slow ${CANARY}`, retryable: true, delayMs: 5 } },
    agent,
  );
  to.add({ ...model, event: 'started', attempt: 2, request: modelIn([first]) }, agent);
  to.add(
    {
      ...model,
      event: 'done',
      attempt: 2,
      value: {
        content: [call],
        stop: 'tool_calls',
        usage: { inputTokens: 10, outputTokens: 4, cachedInputTokens: 6 },
        response: { id: 'resp_1', model: 'gpt-5-2026' },
      },
    },
    agent,
  );
  const delegate = toolIn({ name: 'delegate_researcher', delegate: 'researcher', args: { task: CANARY } });
  to.add({ kind: 'tool', event: 'started', key: 'lead/1.0', node: lead, step: 1, request: delegate }, agent);
  writeWorker(to);
  to.add(
    {
      kind: 'tool',
      event: 'done',
      key: 'lead/1.0',
      node: lead,
      step: 1,
      request: delegate,
      ran: true,
      value: toolOut(),
    },
    agent,
  );
  to.add({ kind: 'step', event: 'done', key: 'lead/1', node: lead, step: 1 }, agent);
  const messages: Message[] = [
    first,
    { role: 'assistant', content: [call] },
    { role: 'tool', callId: 'call_a', name: 'delegate_researcher', content: `hits ${CANARY}`, isError: false },
  ];
  to.add({ kind: 'step', event: 'started', key: 'lead/2', node: lead, step: 2 }, agent);
  const second = { kind: 'model', key: 'lead/2/model', node: lead, step: 2 } as const;
  to.add({ ...second, event: 'started', request: modelIn(messages, 1) }, agent);
  to.add(
    { ...second, event: 'done', value: { content: [{ type: 'text', text: `Done ${CANARY}` }], stop: 'end' } },
    agent,
  );
  to.add({ kind: 'step', event: 'done', key: 'lead/2', node: lead, step: 2 }, agent);
  to.add(
    { kind: 'agent', event: 'done', key: 'lead', node: lead, step: 2, value: agentOut({ steps: 2, toolCalls: 1 }) },
    spanOf('run', 'lead'),
  );
  to.add({
    kind: 'run',
    event: 'done',
    key: 'lead',
    node: lead,
    step: 2,
    value: agentOut({ steps: 3, toolCalls: 2 }),
  });
}

function writeWorker(to: ReturnType<typeof recorder>): void {
  const path = 'lead/1.0/researcher';
  const here = node(path, 'researcher', { path: 'lead', step: 1, toolCallId: 'call_a' });
  const agent = spanOf('agent', path);
  const brief = user('Find');
  to.add(
    {
      kind: 'agent',
      event: 'started',
      key: path,
      node: here,
      step: 0,
      request: {
        agent: 'researcher',
        description: 'Finds',
        type: 'model',
        brief: [brief],
        model: 'openai/gpt-5',
        depth: 2,
      },
    },
    spanOf('tool', 'lead/1.0'),
  );
  to.add({ kind: 'step', event: 'started', key: `${path}/1`, node: here, step: 1 }, agent);
  const model = { kind: 'model', key: `${path}/1/model`, node: here, step: 1 } as const;
  to.add({ ...model, event: 'started', request: modelIn([brief]) }, agent);
  to.add(
    {
      ...model,
      event: 'done',
      value: { content: [calls('call_b', 'search')], stop: 'tool_calls', usage: { inputTokens: 3, outputTokens: 1 } },
    },
    agent,
  );
  const wait = { kind: 'wait', key: `${path}/1.0/@approval`, node: here, step: 1 } as const;
  const request = {
    id: wait.key,
    runId: 'run-1',
    path,
    agent: 'researcher',
    tool: 'search',
    args: { query: CANARY },
    risk: 'low',
    access: 'read',
    reason: 'rule',
    label: { integrity: 'trusted', confidentiality: 'public', origins: [] },
    argsHash: 'x',
    toolHash: 'y',
  } as const;
  to.add({ ...wait, event: 'started', request }, agent);
  to.add({ ...wait, event: 'done', request, value: { decision: 'allow', reason: CANARY } }, agent);
  const tool = { kind: 'tool', key: `${path}/1.0`, node: here, step: 1 } as const;
  to.add({ ...tool, event: 'started', request: toolIn({ callId: 'call_b' }) }, agent);
  const failed = toolOut({ isError: true, error: { kind: 'threw', message: `boom ${CANARY}`, retryable: false } });
  to.add({ ...tool, event: 'failed', request: toolIn({ callId: 'call_b' }), ran: true, value: failed }, agent);
  to.add({ kind: 'step', event: 'done', key: `${path}/1`, node: here, step: 1 }, agent);
  const error = { kind: 'model_error', message: `lost ${CANARY}`, retryable: false };
  to.add(
    {
      kind: 'agent',
      event: 'done',
      key: path,
      node: here,
      step: 1,
      value: agentOut({ status: 'model_error', error, usage: { ...usage, inputTokens: 3 } }),
    },
    spanOf('tool', 'lead/1.0'),
  );
}
