import pLimit from 'p-limit';
import { z } from 'zod';
import { answerTo, call } from '../script.ts';
import { type HttpContender, type Job, modelOf, type Task } from './task.ts';

/** What is used of it. Its own types need the DOM's and looser compiler options than this project's. */
interface Sdk {
  generateText(options: Options): Promise<{ text: string }>;
  streamText(options: Options): { textStream: AsyncIterable<string>; text: PromiseLike<string> };
  tool(options: { description: string; inputSchema: z.ZodType; execute(input: never): Promise<string> }): unknown;
  stepCountIs(steps: number): unknown;
}
interface Options {
  model: unknown;
  system: string;
  tools?: { [name: string]: unknown };
  stopWhen: unknown;
  prompt?: string;
  messages?: readonly object[];
  maxOutputTokens?: number;
  onError?: (event: { readonly error: unknown }) => void;
}
type Provider = (settings: { baseURL: string; apiKey: string }) => {
  chat(id: string): unknown;
  responses(id: string): unknown;
  (id: string): unknown;
};

const [SDK, OPENAI, ANTHROPIC]: string[] = ['ai', '@ai-sdk/openai', '@ai-sdk/anthropic'];
const { generateText, stepCountIs, streamText, tool }: Sdk = await import(SDK ?? '');
const { createOpenAI }: { createOpenAI: Provider } = await import(OPENAI ?? '');
const { createAnthropic }: { createAnthropic: Provider } = await import(ANTHROPIC ?? '');

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
const stopWhen = stepCountIs(100_000);
const query = z.object({ query: z.string() });
const task = z.object({ task: z.string() });

export const aiSdk: HttpContender = {
  name: 'AI SDK',
  async prepare(job) {
    const { shape } = job;
    const complete = async (options: Omit<Options, 'stopWhen' | 'system'>, onText?: (text: string) => void) => {
      const all = { ...options, system: 'Go', stopWhen };
      if (!job.stream) return (await generateText(all)).text;
      const { text, textStream } = streamText({ ...all, onError: ({ error }) => Promise.reject(error) });
      for await (const piece of textStream) onText?.(piece);
      return text;
    };
    switch (shape.kind) {
      case 'agent': {
        const model = modelAt(job, { ...shape, kind: 'steps' });
        const messages = [...history(shape.earlier), { role: 'user', content: 'Go' }];
        return async () => {
          let ran = 0;
          const lookup = lookupOf(() => (ran += 1));
          await complete({ model, tools: { lookup }, messages });
          return ran;
        };
      }
      case 'team': {
        const { workers, steps, limit, latencyMs } = shape;
        const worker = modelAt(job, { kind: 'steps', steps, earlier: 0, latencyMs });
        const lead = modelAt(job, { kind: 'lead', calls: workers, latencyMs });
        return async () => {
          let ran = 0;
          const slots = pLimit(limit);
          const lookup = lookupOf(() => (ran += 1));
          const work = (prompt: string) => slots(async () => complete({ model: worker, tools: { lookup }, prompt }));
          await complete({ model: lead, tools: { delegate_worker: delegateOf(work) }, prompt: 'Go' });
          return ran;
        };
      }
      case 'nested': {
        const { depth, chunks } = shape;
        const last = modelAt(job, { kind: 'text', chunks });
        const lead = modelAt(job, { kind: 'lead', calls: 1, latencyMs: 0 });
        return async () => {
          let characters = 0;
          const run = async (level: number, prompt: string): Promise<string> => {
            if (level === depth - 1) return complete({ model: last, prompt }, (text) => (characters += text.length));
            const delegate = delegateOf((given) => run(level + 1, given));
            return complete({ model: lead, tools: { [`delegate_agent${level + 1}`]: delegate }, prompt });
          };
          await run(0, 'Go');
          return characters;
        };
      }
    }
  },
};

function modelAt({ api, url }: Job, of: Task): unknown {
  const baseURL = api === 'messages' ? `${url}/v1` : url;
  if (api === 'messages') return createAnthropic({ baseURL, apiKey: 'bench-key' })(modelOf(of));
  return createOpenAI({ baseURL, apiKey: 'bench-key' })[api](modelOf(of));
}

function lookupOf(ran: () => void): unknown {
  const execute = async ({ query: asked }: { query: string }) => {
    ran();
    return answerTo(asked);
  };
  return tool({ description: 'Looks something up', inputSchema: query, execute });
}

function delegateOf(work: (task: string) => Promise<string>): unknown {
  const execute = ({ task: given }: { task: string }) => work(given);
  return tool({ description: 'Works', inputSchema: task, execute });
}

function history(earlier: number): object[] {
  if (earlier === 0) return [];
  const pairs = Array.from({ length: earlier }, (_, index) => call(index)).flatMap(
    ({ id: toolCallId, query: asked }) => [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName: 'lookup', input: { query: asked } }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId, toolName: 'lookup', output: { type: 'text', value: answerTo(asked) } },
        ],
      },
    ],
  );
  return [{ role: 'user', content: 'Go' }, ...pairs, { role: 'assistant', content: 'Done' }];
}
