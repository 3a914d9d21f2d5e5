// Map–reduce: the same work on each part, then one agent combines the results. Run it: node --conditions=@coxswain/source src/cli/cox.ts run examples/patterns/map-reduce.ts
import { defineAgent, hasModelEnv, modelFromEnv } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const reader = defineAgent({
  name: 'reader',
  input: z.object({ part: z.string() }),
  instructions: 'List every name and date in this part of a logbook. Say so if there is none.',
  limits: { steps: 3 },
});
const merger = defineAgent({ name: 'merger', instructions: 'Merge the lists: each name and date once, by date.' });

/** Code splits the text, and workers read the parts in parallel. A part that failed is named in the answer, never left out silently. */
export const mapReduce = defineAgent({
  name: 'map_reduce',
  input: z.object({ text: z.string(), size: z.int().min(1).default(4_000) }),
  output: z.object({ list: z.string(), unread: z.array(z.int()) }),
  async run({ text, size }, ctx) {
    const parts = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    const read = await ctx.fanOut(
      reader,
      parts.map((part) => ({ part })),
      { concurrency: 8 },
    );
    const lists = read.flatMap((result) => (result.status === 'completed' ? [result.output] : []));
    const unread = read.flatMap((result, at) => (result.status === 'completed' ? [] : [at + 1]));
    if (lists.length === 0) throw new Error('no part could be read');
    return { list: await ctx.call(merger, { task: lists.join('\n---\n') }), unread };
  },
});

/** For the second part the script calls a tool that does not exist, until the steps are used up. */
export const script = () =>
  scriptedModel(({ instructions, messages }) => {
    if (instructions.startsWith('Merge')) return '(scripted) 3 May: Ada. 9 May: Bo.';
    const part = JSON.stringify(messages[0]?.content);
    if (part.includes('unreadable')) return callTools(toolCall('look_closer', { step: messages.length }));
    return part.includes('Ada') ? 'Ada, 3 May' : 'Bo, 9 May';
  });

const LOG = ['3 May: Ada came on board.', '5 May: unreadable ink   ', '9 May: Bo went ashore.   '].join('');
export default () => ({
  agent: mapReduce,
  input: { text: LOG, size: 25 },
  options: { model: hasModelEnv() ? modelFromEnv() : script() },
});
