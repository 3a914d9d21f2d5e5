import pLimit, { type LimitFunction } from 'p-limit';
import { answerTo } from '../script.ts';
import { type SdkConversation, sdkConversations } from './sdk-conversation.ts';
import { type HttpContender, type Job, modelOf } from './task.ts';

interface Tool {
  readonly name: string;
  readonly description: string;
  /** The one property of its arguments. */
  readonly property: 'query' | 'task';
  execute(args: { readonly query?: string; readonly task?: string }): Promise<string>;
}
type OnText = ((text: string) => void) | undefined;

/** A hand-written loop on the official SDK: call the model, execute the calls concurrently under a limit, append, repeat. */
async function loop(
  transcript: SdkConversation,
  tools: readonly Tool[],
  limit: LimitFunction,
  onText: OnText,
): Promise<string> {
  for (;;) {
    const turn = await limit(() => transcript.ask(onText));
    if (turn.calls.length === 0) return turn.text;
    const results = await Promise.all(
      turn.calls.map((call) => {
        const tool = tools.find(({ name }) => name === call.name);
        const execute = async () => tool?.execute(JSON.parse(call.arguments)) ?? 'no such tool';
        // A call that waits for another agent holds no slot.
        return tool?.property === 'task' ? execute() : limit(execute);
      }),
    );
    transcript.append(turn.calls.map(({ id }, index) => ({ id, text: results[index] ?? '' })));
  }
}

export const sdkLoop: HttpContender = {
  name: 'SDK loop',
  async prepare(job) {
    const { shape } = job;
    const open = sdkConversations(job);
    switch (shape.kind) {
      case 'agent': {
        const transcript = open(modelOf({ ...shape, kind: 'steps' }), [define(lookupOf(() => {}))], shape.earlier);
        return async () => {
          let ran = 0;
          await loop(transcript(), [lookupOf(() => (ran += 1))], pLimit(8), undefined);
          return ran;
        };
      }
      case 'team':
        return team(job, shape);
      case 'nested':
        return nested(job, shape);
    }
  },
};

function team(job: Job, shape: Extract<Job['shape'], { kind: 'team' }>): () => Promise<number> {
  const { workers, steps, limit, latencyMs } = shape;
  const open = sdkConversations(job);
  const worker = open(modelOf({ kind: 'steps', steps, earlier: 0, latencyMs }), [define(lookupOf(() => {}))]);
  const delegate = (execute: Tool['execute']): Tool => delegateOf('worker', execute);
  const lead = open(modelOf({ kind: 'lead', calls: workers, latencyMs }), [define(delegate(async () => ''))]);
  return async () => {
    let ran = 0;
    const lookup = lookupOf(() => (ran += 1));
    const slots = pLimit(limit);
    const shared = pLimit(limit);
    const work = delegate(({ task }) => slots(() => loop(worker(task), [lookup], shared, undefined)));
    await loop(lead(), [work], shared, undefined);
    return ran;
  };
}

function nested(job: Job, { depth, chunks }: Extract<Job['shape'], { kind: 'nested' }>): () => Promise<number> {
  const open = sdkConversations(job);
  const last = open(modelOf({ kind: 'text', chunks }), []);
  const leads = Array.from({ length: depth - 1 }, (_, level) =>
    open(modelOf({ kind: 'lead', calls: 1, latencyMs: 0 }), [define(delegateOf(`agent${level + 1}`, async () => ''))]),
  );
  return async () => {
    let characters = 0;
    const limit = pLimit(8);
    const onText = (text: string) => {
      characters += text.length;
    };
    const run = (level: number, task?: string): Promise<string> => {
      const lead = leads[level];
      if (lead === undefined) return loop(last(task), [], limit, onText);
      const tool = delegateOf(`agent${level + 1}`, ({ task: given }) => run(level + 1, given));
      return loop(lead(task), [tool], limit, undefined);
    };
    await run(0);
    return characters;
  };
}

function lookupOf(ran: () => void): Tool {
  return {
    name: 'lookup',
    description: 'Looks something up',
    property: 'query',
    async execute({ query = '' }) {
      ran();
      return answerTo(query);
    },
  };
}

function delegateOf(agent: string, execute: Tool['execute']): Tool {
  return { name: `delegate_${agent}`, description: 'Works', property: 'task', execute };
}

function define({ name, description, property }: Tool) {
  const schema = { type: 'object', properties: { [property]: { type: 'string' } }, required: [property] } as const;
  return { name, description, schema };
}
