/** A server that is killed: its model answers slowly, piece by piece, and its runs are in a journal. Prints its address. */
import { appendFileSync } from 'node:fs';
import { defineAgent, defineTool, type ModelDelta, type ModelRequest } from 'coxswain';
import { serveHttp } from 'coxswain/http';
import { sqlite } from 'coxswain/sqlite';
import { z } from 'zod';

const { JOURNAL = '', OUTSIDE = '' } = process.env;

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  access: 'read',
  input: z.object({ at: z.number() }),
  execute: ({ at }, { idempotencyKey }) => {
    appendFileSync(OUTSIDE, `${at} ${idempotencyKey}\n`);
    return `saw ${at}`;
  },
});
const agent = defineAgent({ name: 'scout', description: 'Scouts.', instructions: 'Scout.', tools: [look] });
const model = {
  provider: 'own',
  id: 'slow',
  async generate({ messages }: ModelRequest, { onDelta }: { onDelta?: (delta: ModelDelta) => void }) {
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    const words = Array.from({ length: 8 }, (_, index) => `${turn}.${index} `);
    for (const word of words) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      onDelta?.({ type: 'text', text: word });
    }
    const text = { type: 'text' as const, text: words.join('') };
    if (turn === 4) return { content: [text], stop: 'end' as const };
    const call = { type: 'tool_call' as const, id: `c${turn}`, name: 'look', arguments: `{"at":${turn}}` };
    return { content: [text, call], stop: 'tool_calls' as const };
  },
};
const server = await serveHttp({ agents: [agent], run: { model, journal: sqlite(JOURNAL) } });
process.stdout.write(`${server.url}\n`);
