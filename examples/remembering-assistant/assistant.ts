// An assistant that knows in the second session what it was told in the first.
// Run it: node --conditions=@coxswain/source examples/remembering-assistant/assistant.ts [memory.db]
import { defineAgent, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { scripts } from './script.ts';

/** Two people use it: the namespace is made from who is asking, in code, so that neither is shown what the other said. */
export const assistant = defineAgent({
  name: 'helper',
  description: 'Remembers what its user says',
  instructions: `You help one person over many sessions.
Before you answer, search the memory. Save what will matter in a later session, with a key such as user/city where it is the
value of something, so that a change replaces it. If the memory has nothing, say so: never guess.`,
  memory: [
    {
      store: openMemory(process.argv[2] ?? ':memory:'),
      namespace: ({ deps }: { deps: { user: string } }) => `user/${deps.user}`,
      read: true,
      write: true,
    },
  ],
});

function openMemory(file: string): LongTermMemory {
  return longTermMemory({ file: file.endsWith('.db') ? file : ':memory:' });
}

const sessions = [
  { user: 'ana', says: 'I live in Lisbon and I drink tea.' },
  { user: 'ana', says: 'I have moved to Porto. Where do I live, and what do I drink?' },
  { user: 'bo', says: 'What does Ana drink?' },
] as const;

for (const [index, { user, says }] of sessions.entries()) {
  // A session is a run of its own: nothing but the memory goes from one to the next.
  const model = hasModelEnv() ? modelFromEnv() : scripts[index];
  const { text } = await runAgent(assistant, says, { deps: { user }, model });
  console.log(`${user}: ${says}\nassistant: ${text}\n`);
}
