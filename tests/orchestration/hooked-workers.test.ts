import { defineAgent, defineSupervisor, type Hooks, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { textOf } from '../../src/core/values/message.ts';
import { pairing, results, text, turn } from '../support/turns.ts';

/** How confidential what the worker was told is, at each of its requests. */
const labels: string[] = [];
const ada = defineAgent({
  ...{ name: 'ada', description: 'Ada', instructions: 'ada' },
  hooks: {
    beforeModel(_request, { label }) {
      labels.push(label.confidentiality);
      return undefined;
    },
  },
});

/** Every way in which a model calls a worker: the calls of its turns, the last of which has the brief. */
const WAYS = {
  delegate: (task: string) => [turn(['delegate_ada', { task }])],
  start_worker: (task: string) => [turn(['start_worker', { worker: 'ada', brief: { task } }])],
  fan_out: (task: string) => [turn(['fan_out', { worker: 'ada', briefs: [{ task }] }])],
  continue_worker: (task: string) => [
    turn(['delegate_ada', { task: 'first' }]),
    turn(['continue_worker', { id: '1.0/ada', message: task }]),
  ],
} as const;

/** Calls the worker with a brief; gives what was seen, what the worker read last, and what the model was told. */
async function called(way: keyof typeof WAYS, task: string, hooks: Hooks) {
  labels.length = 0;
  const seen: string[] = [];
  const read: string[] = [];
  const watching: Hooks = {
    ...hooks,
    beforeTool(call, context) {
      if (call.tool === 'delegate_ada') seen.push(JSON.stringify(call.args));
      return hooks.beforeTool?.(call, context);
    },
  };
  const options = { background: true, continueWorkers: true, fanOutTool: true, hooks: watching };
  const lead = defineSupervisor({ name: 'lead', instructions: 'lead', workers: [ada], ...options });
  const turns = WAYS[way](task);
  const model = scriptedModel(({ messages }, { agent }) => {
    if (agent === 'ada') {
      const brief = textOf(messages.at(-1)?.content ?? '');
      read.push(brief);
      return text(`did ${brief}`);
    }
    return turns[messages.filter(({ role }) => role === 'assistant').length] ?? text('done');
  });
  const result = await runAgent(lead, 'go', { model });
  expect(pairing(result.messages)).toBe('ok');
  return { result, seen, read, labels, told: results(result.messages).at(-1) };
}

const ways = Object.keys(WAYS) as (keyof typeof WAYS)[];

test.each(ways)('a hook before a tool sees a worker that is called by %s, and what it is given', async (way) => {
  const { seen, read } = await called(way, 'measure', {});
  expect(seen.at(-1)).toBe('{"task":"measure"}');
  expect(read.at(-1)).toBe('measure');
});

test.each(ways)(
  'a hook keeps a worker from being called by %s: it reads nothing, and the model reads why',
  async (way) => {
    const beforeTool: Hooks['beforeTool'] = ({ tool, args }) =>
      tool === 'delegate_ada' && JSON.stringify(args).includes('secret') ? { block: 'not that' } : undefined;
    const { read, told, result } = await called(way, 'the secret', { beforeTool });
    expect(read.filter((brief) => brief.includes('secret'))).toEqual([]);
    expect(told).toMatchObject({ isError: true, text: expect.stringContaining('it was blocked (not that)') });
    expect(result.status).toBe('completed');
  },
);

test.each(ways)('a hook changes what a worker is given that is called by %s', async (way) => {
  const beforeTool: Hooks['beforeTool'] = ({ tool, args }) =>
    tool === 'delegate_ada' ? { args: { task: `${(args as { task: string }).task}, please` } } : undefined;
  const { read } = await called(way, 'measure', { beforeTool });
  expect(read.at(-1)).toBe('measure, please');
});

test.each(ways)('a hook makes the label of a worker worse that is called by %s', async (way) => {
  const beforeTool: Hooks['beforeTool'] = ({ tool }) =>
    tool === 'delegate_ada' ? { label: { confidentiality: 'secret' } } : undefined;
  const { labels } = await called(way, 'measure', { beforeTool });
  expect(labels.at(-1)).toBe('secret');
});
