// An assistant that remembers in the second session what its user said in the first.
// Run it: node --conditions=@coxswain/source examples/remembering-assistant/assistant.ts [memory.db]
import { defineAgent, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { scripts } from './script.ts';

/** Two people use it. Code makes the namespace from the user's name, so that neither sees what the other said. */
export const assistant = defineAgent({
  name: 'helper',
  description: 'Remembers what its user says',
  instructions: `You help one person over many sessions.
Before you answer, search the memory. Save what will matter in a later session. Give it a key such as user/city if it is the
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
  // A session is a run of its own: only the memory connects one with the next.
  const model = hasModelEnv() ? modelFromEnv() : scripts[index];
  const { text } = await runAgent(assistant, says, { deps: { user }, model });
  console.log(`${user}: ${says}\nassistant: ${text}\n`);
}
