import { AsyncLocalStorage } from 'node:async_hooks';
import { type Span, trace } from '@opentelemetry/api';
import { EventEmitter } from 'eventemitter3';
import pLimit, { type LimitFunction } from 'p-limit';
import { z } from 'zod';
import { answerTo, type Contender } from '../script.ts';
import { history, type Message, type Model, scripted } from './hand-loop.ts';

interface Tool {
  readonly input: z.ZodType;
  execute(args: never): Promise<string>;
}
interface Run {
  readonly model: Model;
  readonly tools: { readonly [name: string]: Tool };
  readonly limit: LimitFunction;
  readonly events: EventEmitter;
}

const tracer = trace.getTracer('floor');
const current = new AsyncLocalStorage<{ readonly agent: string }>();
const input = z.object({ query: z.string() });

/** The hand loop with the features: checked arguments, spans, events, a context, a limit. The cost of these features alone. */
async function loop(agent: string, run: Run, messages: Message[]): Promise<Message[]> {
  return current.run({ agent }, async () => {
    for (let step = 1; ; step += 1) {
      run.events.emit('model.start', { agent, step });
      const turn = await spanned(`chat ${agent}`, () => run.limit(run.model, messages));
      run.events.emit('model.end', { agent, step });
      messages.push(turn);
      if (turn.calls.length === 0) return messages;
      const results = await Promise.all(
        turn.calls.map(async (call) => {
          const tool = run.tools[call.name];
          const args = tool?.input.safeParse(JSON.parse(call.arguments));
          if (tool === undefined || !args?.success) return 'invalid arguments';
          run.events.emit('tool.start', { agent, step, name: call.name });
          const execute = () => tool.execute(args.data as never);
          // A delegate holds no slot, since it waits for workers that need one.
          const result = await spanned(`tool ${call.name}`, () =>
            call.name === 'delegate' ? execute() : run.limit(execute),
          );
          run.events.emit('tool.end', { agent, step, name: call.name });
          return result;
        }),
      );
      turn.calls.forEach((call, index) => {
        messages.push({ role: 'tool', callId: call.id, content: results[index] ?? '' });
      });
    }
  });
}

function spanned<T>(name: string, work: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, async (span: Span) => {
    try {
      return await work();
    } finally {
      span.end();
    }
  });
}

export const floor: Contender = {
  name: 'floor',
  async agent(task) {
    const model = scripted(task);
    const earlier = history(task);
    return async () => {
      let ran = 0;
      const lookup: Tool = {
        input,
        execute: async ({ query }: { query: string }) => {
          ran += 1;
          return answerTo(query);
        },
      };
      const run = { model, tools: { lookup }, limit: pLimit(8), events: new EventEmitter() };
      await loop('agent', run, [...earlier, { role: 'user', content: 'Go' }]);
      return ran;
    };
  },
  async team({ workers, steps, limit, latencyMs }) {
    const worker = scripted({ steps, calls: 1 }, latencyMs);
    const lead = scripted({ steps: 2, calls: workers }, latencyMs, 'delegate');
    return async () => {
      let ran = 0;
      const slots = pLimit(limit);
      const shared = { limit: pLimit(limit), events: new EventEmitter() };
      const lookup: Tool = {
        input,
        execute: async ({ query }: { query: string }) => {
          ran += 1;
          return answerTo(query);
        },
      };
      const work = async (task: string) => {
        const run = { ...shared, model: worker, tools: { lookup } };
        const done = await loop('worker', run, [{ role: 'user', content: task }]);
        return done.at(-1)?.content ?? '';
      };
      const delegate: Tool = { input, execute: ({ query }: { query: string }) => slots(work, query) };
      await loop('lead', { ...shared, model: lead, tools: { delegate } }, [{ role: 'user', content: 'Go' }]);
      return ran;
    };
  },
  park(keep) {
    const model = () => new Promise<never>(keep);
    const run = { model, tools: {}, limit: pLimit(8), events: new EventEmitter() };
    return loop('agent', run, [{ role: 'user', content: 'Go' }]);
  },
};
