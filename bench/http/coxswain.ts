import {
  type Agent,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type InputMessage,
  type Model,
  runAgent,
  startRun,
} from 'coxswain';
import { anthropic } from 'coxswain/anthropic';
import { openai } from 'coxswain/openai';
import { z } from 'zod';
import { answerTo, call } from '../script.ts';
import { type HttpContender, type Job, modelOf, type Run, type Task } from './task.ts';

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
const FIRST = { role: 'user', content: 'Go' } as const;
const fixed = { description: 'Works', instructions: 'Go', limits };

/** On the default configuration: no views, no OpenTelemetry SDK, listeners only where a text is listened to. Only the limits are raised. */
export const coxswain: HttpContender = {
  name: 'coxswain',
  async prepare(job) {
    switch (job.shape.kind) {
      case 'agent':
        return agent(job, job.shape);
      case 'team':
        return team(job, job.shape);
      case 'nested':
        return nested(job, job.shape);
    }
  },
};

function modelAt({ api, url, stream }: Job, task: Task): Model {
  const options = { baseURL: url, apiKey: 'bench-key', stream, limits: { contextTokens: 10_000_000 } };
  return api === 'messages' ? anthropic(modelOf(task), options) : openai(modelOf(task), { ...options, api });
}

function agent(job: Job, { steps, earlier, latencyMs }: Extract<Job['shape'], { kind: 'agent' }>): Run {
  const model = modelAt(job, { kind: 'steps', steps, earlier, latencyMs });
  const definition = defineAgent({ ...fixed, name: 'agent', tools: [lookup], model });
  const before = Array.from({ length: earlier }, (_, index) => call(index)).flatMap(({ id, query }): InputMessage[] => [
    { role: 'assistant', content: [{ type: 'tool_call', id, name: 'lookup', arguments: JSON.stringify({ query }) }] },
    { role: 'tool', callId: id, name: 'lookup', content: answerTo(query), isError: false },
  ]);
  const input = earlier === 0 ? 'Go' : [FIRST, ...before, { role: 'assistant', content: 'Done' } as const, FIRST];
  return counted(async () => {
    const result = await runAgent(definition, input);
    return result.status;
  });
}

function team(job: Job, { workers, steps, limit, latencyMs }: Extract<Job['shape'], { kind: 'team' }>): Run {
  const worker = defineAgent({
    ...fixed,
    name: 'worker',
    tools: [lookup],
    model: modelAt(job, { kind: 'steps', steps, earlier: 0, latencyMs }),
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'Go',
    workers: [worker],
    concurrency: limit,
    model: modelAt(job, { kind: 'lead', calls: workers, latencyMs }),
  });
  return counted(async () => (await runAgent(lead, 'Go', { limits: { concurrency: limit } })).status);
}

function nested(job: Job, { depth, chunks }: Extract<Job['shape'], { kind: 'nested' }>): Run {
  const last = `agent${depth - 1}`;
  let agent: Agent = defineAgent({
    ...fixed,
    name: last,
    model: modelAt(job, { kind: 'text', chunks }),
  });
  for (let level = depth - 2; level >= 0; level -= 1) {
    const model = modelAt(job, { kind: 'lead', calls: 1, latencyMs: 0 });
    agent = defineAgent({ ...fixed, name: `agent${level}`, tools: [delegate(agent)], model });
  }
  return async () => {
    let characters = 0;
    const run = startRun(agent, 'Go', { limits: { depth } });
    run.on('model.delta', ({ agent: speaker, delta }) => {
      if (speaker === last && delta.type === 'text') characters += delta.text.length;
    });
    const { status } = await run.result;
    if (status !== 'completed') throw new Error(`coxswain: ${status}`);
    return characters;
  };
}

function counted(run: () => Promise<string>): Run {
  return async () => {
    const before = ran;
    const status = await run();
    if (status !== 'completed') throw new Error(`coxswain: ${status}`);
    return ran - before;
  };
}
