import { join } from 'node:path';
import { defineAgent, defineTool, type Hooks, replayRun, resumeRun, runAgent, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { folder, journal, killedAfter } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';

/** An agent that looks three times, with hooks whose answers depend on how often they were asked. */
function watched() {
  const calls: string[] = [];
  const ran: unknown[] = [];
  const look = defineTool({
    name: 'look',
    description: 'x',
    input: z.object({ at: z.string(), seen: z.number().optional() }),
    access: 'read',
    execute: (args) => {
      ran.push(args);
      return `saw ${args.at}`;
    },
  });
  const times = (name: string) => {
    calls.push(name);
    return calls.filter((one) => one === name).length;
  };
  const hooks: Hooks = {
    beforeModel: (_request, { key }) => ({ annotate: { times: times(`beforeModel ${key}`) } }),
    afterModel: (_turn, { key }) => ({ annotate: times(`afterModel ${key}`) }),
    beforeTool: ({ args }, { key }) => {
      const seen = times(`beforeTool ${key}`);
      const { at } = args as { at: string };
      return at === 'keel' ? { block: `asked ${seen} times` } : { args: { at, seen } };
    },
    afterTool: ({ callId }, { key }) => ({ note: `${callId} ${times(`afterTool ${key}`)}` }),
    onEnd: (_ending, { key }) => ({ annotate: times(`onEnd ${key}`) }),
  };
  const agent = defineAgent({ name: 'watch', instructions: 'Look.', tools: [look], hooks });
  // What it says follows from the request alone.
  const model = scriptedModel(({ messages }) => {
    const at = ['bow', 'keel', 'stern'][messages.filter(({ role }) => role === 'tool').length];
    return at === undefined ? say('Seen.') : callTools(toolCall('look', { at }, at));
  });
  return { agent, model, calls, ran };
}

describe('hooks', () => {
  it('are asked once, wherever the process dies, and a replay asks none', async () => {
    const store = journal();
    const whole = watched();
    const result = await runAgent(whole.agent, 'Go', { model: whole.model, journal: store, runId: 'r' });
    expect(result.status).toBe('completed');
    const rows = (await store.read('r'))?.rows ?? [];

    const replay = watched();
    const replayed = await replayRun(replay.agent, { journal: store, runId: 'r' }).result;
    expect(replayed.messages).toEqual(result.messages);
    expect(replay.calls).toEqual([]);

    for (const count of someNumbers(1, rows.length - 1, 12)) {
      const killed = await killedAfter(rows, count, { id: 'r', agent: 'watch' });
      const { agent, model, calls } = watched();
      const resumed = await resumeRun(agent, 'r', { journal: killed, model }).result;
      expect(resumed.messages, `record ${count}`).toEqual(result.messages);
      const known = new Set(rows.slice(0, count).flatMap(({ key, kind }) => (kind === 'once' ? [key] : [])));
      for (const key of known) {
        const [, of = '', name = ''] = /^(.*?)\/?@(\w+)$/.exec(key) ?? [];
        expect(calls.filter((call) => call.startsWith(`${name} ${of}`) && call.endsWith(of))).toEqual([]);
      }
      const again = ((await killed.read('r'))?.rows ?? []).filter(({ kind }) => kind === 'once').map(({ key }) => key);
      expect(new Set(again).size, 'each once').toBe(again.length);
    }
  });

  it('say what they annotate in the step log, which plays again without them', async () => {
    const log = join(folder(), 'run.jsonl');
    const { agent, model } = watched();
    const run = startRun(agent, 'Go', { model, views: [jsonlLog(log, { content: 'full' })] });
    const result = await run.result;
    const other = watched();
    const again = await replayRun(other.agent, { log }).result;
    expect(again).toMatchObject({ status: 'completed', text: result.text });
    expect(other.calls).toEqual([]);
    expect(again.messages.map(({ content }) => content)).toEqual(result.messages.map(({ content }) => content));
  });

  it('that were added later have nothing to say of what is on record', async () => {
    const store = journal();
    const { agent, model } = watched();
    const bare = defineAgent({ name: 'watch', instructions: 'Look.', tools: agent.tools as [] });
    await runAgent(bare, 'Go', { model, journal: store, runId: 'r' });
    const later = watched();
    const replayed = await replayRun(later.agent, { journal: store, runId: 'r' }).result;
    expect(replayed).toMatchObject({ status: 'completed', text: 'Seen.' });
    expect(later.calls).toEqual([]);
  });

  it('block again at a resume what they blocked, and fire at a new end', async () => {
    const store = journal();
    const ends: string[] = [];
    const make = (steps: number) =>
      defineAgent({
        name: 'watch',
        instructions: 'Look.',
        tools: watched().agent.tools as [],
        limits: { steps },
        hooks: {
          beforeTool: ({ args }) => ((args as { at: string }).at === 'keel' ? { block: 'no' } : undefined),
          onEnd: ({ status }) => {
            ends.push(status);
          },
        },
      });
    const { model } = watched();
    const first = await runAgent(make(2), 'Go', { model, journal: store, runId: 'r' });
    expect(first.status).toBe('step_limit');
    const second = await resumeRun(make(9), 'r', { model, journal: store }).result;
    expect(second.status).toBe('completed');
    expect(ends).toEqual(['step_limit', 'completed']);
    expect(second.messages.filter((message) => message.role === 'tool' && message.isError)).toHaveLength(1);
  });
});
