import { defineAgent, defineSupervisor, type Model, runAgent } from 'coxswain';
import { describe, expect, it } from 'vitest';

const workers = ['poet', 'critic', 'editor'].map((name) =>
  defineAgent({ name, description: `The ${name}`, instructions: name }),
);
const lead = defineSupervisor({ name: 'lead', instructions: 'lead', workers, limits: { tokens: 50_000 } });

/** Calls every worker at once; notes how long each answer might have been. */
function team(usage?: { inputTokens: number; outputTokens: number }) {
  const rooms = new Map<string, number>();
  const model: Model = {
    provider: 'test',
    id: 'team',
    async generate({ instructions, messages, settings }) {
      rooms.set(instructions, Number(settings.maxOutputTokens));
      const isFirst = instructions === 'lead' && !messages.some(({ role }) => role === 'assistant');
      const calls = workers.map(({ name }) => {
        const args = JSON.stringify({ task: 'A line about the sea' });
        return { type: 'tool_call', id: name, name: `delegate_${name}`, arguments: args } as const;
      });
      const said = { type: 'text', text: `${instructions} is done` } as const;
      return { content: isFirst ? calls : [said], stop: isFirst ? 'tool_calls' : 'end', ...(usage && { usage }) };
    },
  };
  return { model, rooms };
}

describe('workers that share a cap on tokens', () => {
  it('wait for a refund rather than start with room for a few words', async () => {
    const { model, rooms } = team({ inputTokens: 20, outputTokens: 10 });
    const result = await runAgent(lead, 'go', { model });
    expect(result.status).toBe('completed');
    for (const name of ['poet', 'critic', 'editor']) expect(rooms.get(name)).toBeGreaterThanOrEqual(1_024);
  });

  it('are not charged their whole reservation where nothing is reported', async () => {
    const { model } = team();
    const result = await runAgent(lead, 'go', { model });
    expect(result.status).toBe('completed');
    expect(result.tree.children.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  });
});
