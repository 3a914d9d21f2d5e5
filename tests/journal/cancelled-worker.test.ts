import { defineAgent, defineSupervisor, defineTool, type RunResult, resumeRun, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { journal, killedAfter } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';
import { text, turn } from '../support/turns.ts';

const read = defineTool({ name: 'read', description: 'r', input: {}, access: 'read', execute: () => 'page' });
const twice = defineTool({
  name: 'twice',
  description: 't',
  input: {},
  access: 'read',
  run: async (_input, flow) => `${await flow.tool(read, {})} ${await flow.tool(read, {})}`,
});
const code = defineAgent({
  name: 'code',
  description: 'c',
  async run(_input, ctx) {
    await ctx.tool(read, {});
    await ctx.tool(read, {});
    await ctx.tool(hang, {});
    return 'never';
  },
});
const hang = defineTool({
  name: 'hang',
  description: 'h',
  input: {},
  access: 'read',
  execute: () => new Promise(() => {}),
});
const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [read, twice, hang] });
const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [ada, code] });
const model = () =>
  scriptedModel((request, { agent }) => {
    const step = request.messages.filter(({ role }) => role === 'assistant').length;
    if (agent === 'lead')
      return step === 0
        ? turn(['delegate_ada', { task: 'x' }], ['delegate_code', { task: 'y' }])
        : text(JSON.stringify(request.messages));
    return {
      ...(['read', 'twice', 'read', 'hang'].slice(step, step + 1).map((name) => turn([name]))[0] ?? text('end')),
    };
  });

const essence = ({ status, text: said, usage, steps, toolCalls, tree }: RunResult) =>
  JSON.parse(JSON.stringify({ status, said: said.replace(/"c\d+"/g, '"c"'), usage, steps, toolCalls, tree }));

test('a worker that was cancelled late is, after a crash, as far as it had come', async () => {
  const store = journal();
  const run = startRun(lead, 'go', { model: model(), journal: store, runId: 'r1', graceMs: 1_000 });
  let hanging = 0;
  run.on('tool.start', ({ name }) => {
    if (name !== 'hang') return;
    hanging += 1;
    if (hanging < 2) return;
    void run.cancel('lead/1.0/ada', 'enough');
    void run.cancel('lead/1.1/code', 'enough');
  });
  const whole = await run.result;
  expect(whole.status).toBe('completed');
  expect(whole.tree.children.map(({ status, step }) => [status, step])).toEqual([
    ['cancelled', 4],
    ['cancelled', 0],
  ]);
  const rows = (await store.read('r1'))?.rows ?? [];
  const stopped = rows.findLastIndex(({ kind }) => kind === 'stop');
  for (const count of someNumbers(stopped + 1, rows.length, 5)) {
    const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
    const diverged: unknown[] = [];
    const resumed = resumeRun(lead, 'r1', { model: model(), journal: half, graceMs: 1_000 });
    resumed.on('run.diverged', (event) => diverged.push(event.key, event.parts));
    expect(essence(await resumed.result), `after ${count}`).toEqual(essence(whole));
    expect(diverged).toEqual([]);
    half.close();
  }
});
