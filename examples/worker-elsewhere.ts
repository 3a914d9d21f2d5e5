// A worker called from plain code, outside any run. Run it: node --conditions=@coxswain/source examples/worker-elsewhere.ts
import { AgentError, callAgent, defineAgent, hasModelEnv, modelFromEnv } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';

const sorter = defineAgent({
  name: 'sorter',
  description: 'Sorts a letter into a drawer',
  instructions: 'Sort the letter: bill, praise or complaint.',
  input: z.object({ letter: z.string() }),
  output: z.object({ drawer: z.enum(['bill', 'praise', 'complaint']) }),
});

// Without a key, a script stands in for the model: it looks for one word.
const script = scriptedModel((request) => {
  const drawer = JSON.stringify(request.messages).includes('owe') ? 'bill' : 'praise';
  return JSON.stringify({ drawer });
});
const model = hasModelEnv() ? modelFromEnv() : script;

for (const letter of ['You owe us for the rope.', 'The new oars are a joy.']) {
  try {
    const { drawer } = await callAgent(sorter, { letter }, { model });
    console.log(`${drawer.padEnd(9)} ${letter}`);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    console.log(`${error.result.status.padEnd(9)} ${letter}`);
  }
}
