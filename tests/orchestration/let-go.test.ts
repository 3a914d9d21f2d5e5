import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { defineAgent, defineSupervisor, type Message, type Model, startRun } from 'coxswain';
import { expect, it } from 'vitest';
import { gate, text, turn } from '../support/turns.ts';

it('the transcript of a worker that has ended is let go while its supervisor goes on', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const briefs: WeakRef<Message>[] = [];
  const held = gate();
  const asked = gate();
  const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a' });
  const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [ada] });
  // Unlike a scripted model it keeps no request.
  const model: Model = {
    provider: 'p',
    id: 'm',
    async generate({ messages }, { agent }) {
      if (agent === 'ada') {
        briefs.push(new WeakRef(messages[0] as Message));
        return text('done');
      }
      if (messages.length === 1) return turn(['delegate_ada', { task: 'x' }]);
      asked.open();
      await held.promise;
      return text('done');
    },
  };
  const run = startRun(lead, 'go', { model });
  await asked.promise;
  for (let round = 0; round < 5; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  const kept = briefs.map((brief) => brief.deref() !== undefined);
  held.open();
  expect((await run.result).status).toBe('completed');
  expect(kept).toEqual([false]);
});
