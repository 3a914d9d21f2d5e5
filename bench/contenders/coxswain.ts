import { setTimeout as sleep } from 'node:timers/promises';
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  type InputMessage,
  type Model,
  type ModelTurn,
  runAgent,
  startRun,
} from 'coxswain';
import { z } from 'zod';
import {
  type AgentTask,
  answerTo,
  type Contender,
  call,
  HISTORY,
  historyCalls,
  type ScriptedCall,
  script,
} from '../script.ts';

let ran = 0;
const lookup = defineTool({
  name: 'lookup',
  description: 'Looks something up',
  access: 'read',
  input: z.object({ query: z.string() }),
  execute: async ({ query }) => {
    ran += 1;
    return answerTo(query);
  },
});
const limits = { steps: 10_000, toolCalls: 10_000 };

/** On the default configuration: no views, no listeners, no OpenTelemetry SDK. Only the limits are raised. */
export const coxswain: Contender = {
  name: 'coxswain',
  async agent(task) {
    const agent = defineAgent({ name: 'agent', instructions: 'Go', tools: [lookup], limits, model: scripted(task) });
    const earlier = await history(task);
    const input = earlier.length === 0 ? 'Go' : [...earlier, { role: 'user', content: 'Go' } as const];
    return async () => {
      const before = ran;
      const result = await runAgent(agent, input);
      if (result.status !== 'completed') throw new Error(`coxswain: ${result.status}`);
      return ran - before;
    };
  },
  async team({ workers, steps, limit, latencyMs }) {
    const worker = defineAgent({
      name: 'worker',
      description: 'Works',
      instructions: 'Go',
      tools: [lookup],
      limits,
      input: z.object({ query: z.string() }),
      model: scripted({ steps, calls: 1 }, latencyMs),
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'Go',
      workers: [worker],
      concurrency: limit,
      model: scripted({ steps: 2, calls: workers }, latencyMs, 'delegate_worker'),
    });
    return async () => {
      const before = ran;
      const result = await runAgent(lead, 'Go', { limits: { concurrency: limit } });
      if (result.status !== 'completed') throw new Error(`coxswain: ${result.status}`);
      return ran - before;
    };
  },
  park(keep) {
    return startRun(parked, 'Go', { model: { provider: 'bench', id: 'bench', generate: () => new Promise(keep) } });
  },
};

const parked = defineAgent({ name: 'agent', instructions: 'Go', tools: [lookup] });

function scripted(task: AgentTask, latencyMs = 0, tool = 'lookup'): Model {
  const next = script(task, 1 + task.calls, (calls) => turn(calls, tool));
  return {
    provider: 'bench',
    id: 'bench',
    async generate({ messages }) {
      if (latencyMs > 0) await sleep(latencyMs);
      return next(messages.length);
    },
  };
}

function turn(calls: readonly ScriptedCall[], name: string): ModelTurn {
  if (calls.length === 0) return { content: [{ type: 'text', text: 'Done' }], stop: 'end' };
  const content = calls.map((one) => ({ type: 'tool_call', id: one.id, name, arguments: one.arguments }) as const);
  return { content, stop: 'tool_calls' };
}

async function history({ history: kind = 'none' }: AgentTask): Promise<readonly InputMessage[]> {
  if (kind === 'none') return [];
  if (kind === 'hand-made') {
    const pairs = historyCalls.flatMap((one): InputMessage[] => [
      { role: 'assistant', content: turn([one], 'lookup').content },
      { role: 'tool', callId: one.id, name: 'lookup', content: answerTo(one.query), isError: false },
    ]);
    return [{ role: 'user', content: call(0).query }, ...pairs, { role: 'assistant', content: 'Done' }];
  }
  const model = scripted({ steps: HISTORY / 2, calls: 1 });
  const agent = defineAgent({ name: 'agent', instructions: 'Go', tools: [lookup], limits, model });
  return (await runAgent(agent, call(0).query)).messages;
}
