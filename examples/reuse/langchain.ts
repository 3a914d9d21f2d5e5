// A worker as a tool of LangChain, and a tool of LangChain for an agent here.
// Run it: node --conditions=@coxswain/source examples/reuse/langchain.ts
import type { ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { defineAgent, runAgent } from 'coxswain';
import { fromLangChainTool, type LangChainArtifact, toLangChainTool } from 'coxswain/langchain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';
import { scripted, sounder } from './sounder.ts';

// Out: an agent of LangChain calls the worker in this way.
const sound = toLangChainTool(sounder, { model: scripted() });
const call = { type: 'tool_call', id: '1', name: 'sounder', args: { mark: 'bar', draught: 1.8 } } as const;
const message = (await sound.invoke(call)) as unknown as ToolMessage;
const { usage } = message.artifact as LangChainArtifact<string>;
console.log(`${message.content} (${usage.inputTokens} tokens in)`);

// In: without the option `access` it would be `execute`, and a person would be asked.
const tide = tool(({ port }) => `${port}: high water at 14:10`, {
  name: 'tide',
  description: 'High water of today',
  schema: z.object({ port: z.string() }),
});
const pilot = defineAgent({
  name: 'pilot',
  instructions: 'Look the tide up.',
  tools: [fromLangChainTool(tide, { access: 'read' })],
});
const model = scriptedModel([callTools(toolCall('tide', { port: 'Lisbon' })), 'At ten past two.']);
const result = await runAgent(pilot, 'When is high water in Lisbon?', { model });
console.log(result.text, result.status);
