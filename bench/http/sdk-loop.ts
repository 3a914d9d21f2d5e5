import pLimit, { type LimitFunction } from 'p-limit';
import { answerTo } from '../script.ts';
import { sdkTalks, type Talk } from './sdk-talk.ts';
import { type HttpContender, type Job, modelOf } from './task.ts';

interface Tool {
  readonly name: string;
  readonly description: string;
  /** The one property of its arguments. */
  readonly property: 'query' | 'task';
  execute(args: { readonly query?: string; readonly task?: string }): Promise<string>;
}
type Heard = ((text: string) => void) | undefined;

/** The loop that one writes by hand on the official SDK: ask, run the calls side by side under a limit, append, ask again. */
async function loop(transcript: Talk, tools: readonly Tool[], limit: LimitFunction, heard: Heard): Promise<string> {
  for (;;) {
    const turn = await limit(() => transcript.ask(heard));
    if (turn.calls.length === 0) return turn.text;
    const results = await Promise.all(
      turn.calls.map((call) => {
        const tool = tools.find(({ name }) => name === call.name);
        const execute = async () => tool?.execute(JSON.parse(call.arguments)) ?? 'no such tool';
        // Who waits for another agent holds no place.
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
    const open = sdkTalks(job);
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
  const open = sdkTalks(job);
  const worker = open(modelOf({ kind: 'steps', steps, earlier: 0, latencyMs }), [define(lookupOf(() => {}))]);
  const delegate = (execute: Tool['execute']): Tool => delegateOf('worker', execute);
  const lead = open(modelOf({ kind: 'lead', calls: workers, latencyMs }), [define(delegate(async () => ''))]);
  return async () => {
    let ran = 0;
    const lookup = lookupOf(() => (ran += 1));
    const places = pLimit(limit);
    const shared = pLimit(limit);
    const work = delegate(({ task }) => places(() => loop(worker(task), [lookup], shared, undefined)));
    await loop(lead(), [work], shared, undefined);
    return ran;
  };
}

function nested(job: Job, { depth, chunks }: Extract<Job['shape'], { kind: 'nested' }>): () => Promise<number> {
  const open = sdkTalks(job);
  const last = open(modelOf({ kind: 'text', chunks }), []);
  const leads = Array.from({ length: depth - 1 }, (_, level) =>
    open(modelOf({ kind: 'lead', calls: 1, latencyMs: 0 }), [define(delegateOf(`agent${level + 1}`, async () => ''))]),
  );
  return async () => {
    let heard = 0;
    const limit = pLimit(8);
    const onText = (text: string) => {
      heard += text.length;
    };
    const run = (level: number, task?: string): Promise<string> => {
      const lead = leads[level];
      if (lead === undefined) return loop(last(task), [], limit, onText);
      const tool = delegateOf(`agent${level + 1}`, ({ task: given }) => run(level + 1, given));
      return loop(lead(task), [tool], limit, undefined);
    };
    await run(0);
    return heard;
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
