import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { defineAgent, defineTool, type Model } from 'coxswain';
import { z } from 'zod';

/** An agent whose first turn waits for a file, and then sends; who sent is told outside. */
export function slowSender(outside: string, go: string) {
  const send = defineTool({
    name: 'send',
    description: 'sends',
    input: z.object({}),
    access: 'send',
    execute() {
      appendFileSync(outside, `${process.pid}\n`);
      return 'sent';
    },
  });
  const usage = { inputTokens: 1, outputTokens: 1 };
  const model: Model = {
    provider: 'scripted',
    id: 'slow',
    async generate({ messages }) {
      if (messages.length > 1) return { content: [{ type: 'text', text: 'end' }], stop: 'end', usage };
      while (!existsSync(go)) await pause(5);
      return { content: [{ type: 'tool_call', id: 'a', name: 'send', arguments: '{}' }], stop: 'tool_calls', usage };
    },
  };
  const lead = defineAgent({ name: 'lead', instructions: 'Send.', tools: [send] });
  return { lead, model, permissions: { rules: ['allow send'] } };
}
