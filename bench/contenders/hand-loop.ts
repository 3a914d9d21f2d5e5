import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { type AgentTask, answerTo, type Contender, call, historyCalls, type ScriptedCall, script } from '../script.ts';

interface Turn {
  readonly role: 'assistant';
  readonly content: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}
export type Message =
  | { readonly role: 'user'; readonly content: string }
  | Turn
  | { readonly role: 'tool'; readonly callId: string; readonly content: string };
export type Model = (messages: readonly Message[]) => Promise<Turn>;
type Tools = { readonly [name: string]: (args: never) => Promise<string> };

/** The loop that one writes without a framework, and nothing else. */
async function loop(model: Model, tools: Tools, messages: Message[]): Promise<Message[]> {
  for (;;) {
    const turn = await model(messages);
    messages.push(turn);
    if (turn.calls.length === 0) return messages;
    const results = await Promise.all(
      turn.calls.map((call) => tools[call.name]?.(JSON.parse(call.arguments) as never)),
    );
    turn.calls.forEach((call, index) => {
      messages.push({ role: 'tool', callId: call.id, content: results[index] ?? '' });
    });
  }
}

export const handLoop: Contender = {
  name: 'L0',
  async agent(task) {
    const model = scripted(task);
    const earlier = history(task);
    return async () => {
      let ran = 0;
      const lookup = async ({ query }: { query: string }) => {
        ran += 1;
        return answerTo(query);
      };
      await loop(model, { lookup }, [...earlier, { role: 'user', content: 'Go' }]);
      return ran;
    };
  },
  async team({ workers, steps, limit, latencyMs }) {
    const worker = scripted({ steps, calls: 1 }, latencyMs);
    const lead = scripted({ steps: 2, calls: workers }, latencyMs, 'delegate');
    return async () => {
      let ran = 0;
      const slots = pLimit(limit);
      const lookup = async ({ query }: { query: string }) => {
        ran += 1;
        return answerTo(query);
      };
      const work = async (task: string) => {
        const done = await loop(worker, { lookup }, [{ role: 'user', content: task }]);
        return done.at(-1)?.content ?? '';
      };
      const delegate = ({ query }: { query: string }) => slots(work, query);
      await loop(lead, { delegate }, [{ role: 'user', content: 'Go' }]);
      return ran;
    };
  },
  park(keep) {
    return loop(() => new Promise(keep), {}, [{ role: 'user', content: 'Go' }]);
  },
};

export function scripted(task: AgentTask, latencyMs = 0, tool = 'lookup'): Model {
  const next = script(task, 1 + task.calls, (calls) => turn(calls, tool));
  return async (messages) => {
    if (latencyMs > 0) await sleep(latencyMs);
    return next(messages.length);
  };
}

export function history({ history: kind = 'none' }: AgentTask): Message[] {
  if (kind === 'none') return [];
  const pairs = historyCalls.flatMap((one): Message[] => [
    turn([one], 'lookup'),
    { role: 'tool', callId: one.id, content: answerTo(one.query) },
  ]);
  return [{ role: 'user', content: call(0).query }, ...pairs, turn([], 'lookup')];
}

function turn(calls: readonly ScriptedCall[], name: string): Turn {
  const content = calls.length === 0 ? 'Done' : '';
  return { role: 'assistant', content, calls: calls.map((one) => ({ id: one.id, name, arguments: one.arguments })) };
}
