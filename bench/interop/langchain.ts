import { tool } from '@langchain/core/tools';
import { toLangChainTool } from 'coxswain/langchain';
import { z } from 'zod';
import { ANSWER, type Integration, model, QUESTION, worker } from '../integration.ts';

const call = { type: 'tool_call', id: '1', name: 'sounder', args: QUESTION } as const;

export const integration: Integration = {
  name: 'langchain',
  goal: { overheadMs: 1 },
  async prepare() {
    const own = tool(async () => [ANSWER, { answer: ANSWER }], {
      name: 'sounder',
      description: worker.description,
      schema: z.object({ question: z.string() }),
      responseFormat: 'content_and_artifact',
    });
    const ours = toLangChainTool(worker, { model });
    const content = (message: unknown) => (message as { readonly content: unknown }).content;
    return { own: async () => content(await own.invoke(call)), ours: async () => content(await ours.invoke(call)) };
  },
};
