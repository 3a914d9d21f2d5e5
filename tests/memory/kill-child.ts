/** Works on a memory file until it is killed: `node kill-child.ts <file> <work>`. Says a line after each thing that is done. */
import { defineAgent, type Model, runAgent, startRun } from 'coxswain';
import { consolidation, type Embedder, type LongTermMemory, longTermMemory, type MemoryStore } from 'coxswain/memory';
import { sqlite } from 'coxswain/sqlite';
import { scriptedModel } from 'coxswain/testing';

const [, , file = '', work = ''] = process.argv;

/** A vector of the text's length. */
export const embedder = (id: string, asked: (count: number) => void = () => {}): Embedder => ({
  id,
  dimensions: 2,
  embed: async (texts) => {
    asked(texts.length);
    return texts.map((text) => [text.length, 1]);
  },
});

export const GROUPS = 40;

/** More than are embedded at once. */
export const TEXTS = Array.from({ length: 2_000 }, (_, index) => `one of many, number ${index}`);

/** A consolidation whose model merges the first two that it is shown and closes the third; `asked` may keep it waiting. */
export function night(store: LongTermMemory, asked: () => unknown = () => undefined) {
  const model = scriptedModel(async ({ messages }) => {
    const { entries } = JSON.parse(String(messages[0]?.content)) as { entries: { text: string }[] };
    await asked();
    return JSON.stringify({ merge: [{ entries: [1, 2], text: `merged from ${entries[0]?.text}` }], outdated: [3] });
  });
  return consolidation(store, { namespace: 'team', model, batch: 10 });
}

/** An agent whose runs are remembered by the run's model. */
export const clerk = (store: MemoryStore, namespace = 'user/ada') =>
  defineAgent({
    name: 'clerk',
    instructions: 'Help.',
    memory: [{ store, namespace, write: true, extract: { model: scriptedModel([]) } }],
  });

/** Answers as the agent; as the model that remembers it says so and never answers. */
function forgetful(asked: () => void): Model {
  return scriptedModel(({ instructions }) => {
    if (!instructions.startsWith('You keep a memory')) return 'Noted.';
    asked();
    return new Promise<never>(() => {});
  });
}

async function main(): Promise<void> {
  const say = (line: string | number) => process.stdout.write(`${line}\n`);
  const store = longTermMemory({ file, embedder: embedder(work === 'reembed' ? 'new' : 'old', () => say('batch')) });
  const entry = (text: string) => ({ text, namespace: 'team', source: 'child' });
  if (work === 'insert') {
    for (let index = 0; ; index++) {
      await store.add(entry(`thing number ${index}`));
      say(index);
    }
  }
  if (work === 'update') {
    const { id } = await store.add({ ...entry('counted 0'), key: 'counter' });
    for (;;) {
      const current = await store.get(id);
      await store.update(id, { text: `counted ${current?.version}`, version: current?.version ?? 0 });
      say(current?.version ?? 0);
    }
  }
  if (work === 'consolidate') {
    const all = await store.list({ namespace: 'team', limit: 1_000 });
    const groups = Map.groupBy(all, ({ metadata }) => Number(metadata?.group));
    const changes = [...groups].map(([group, entries]) => ({
      entries: entries.map(({ id, version }) => ({ id, version })),
      text: `group ${group} as one`,
    }));
    say('begins');
    for (let night = 0; ; night++) say(JSON.stringify(await store.consolidated(`night-${night}`, 'team', changes)));
  }
  if (work === 'many') {
    await store.addAll(TEXTS.map(entry));
    say('all');
  }
  if (work === 'night') {
    const journal = sqlite(`${file}.runs`);
    let judged = 0;
    const asked = () => {
      say('judged');
      judged += 1;
      return judged < 3 ? undefined : new Promise((resolve) => setTimeout(resolve, 60_000));
    };
    await runAgent(night(store, asked), {}, { journal, runId: 'night' });
    say('all');
  }
  if (work === 'extract') {
    const run = startRun(clerk(store), 'I moved to Porto', { model: forgetful(() => say('asked')), runId: 'killed' });
    await run.result;
    say('over');
    // Its model never answers.
    setTimeout(() => {}, 60_000);
  }
  if (work === 'reembed') {
    await store.reembed();
    say('all');
  }
}

if (import.meta.main) await main();
