import { runAgent } from 'coxswain';
import { consolidation, longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import { generator } from '../memory-scan.ts';

const SESSIONS = 500;
const FACTS_A_SESSION = 6;
const PEOPLE = [
  'Ana',
  'Bo',
  'Chen',
  'Dara',
  'Eli',
  'Fay',
  'Gus',
  'Hana',
  'Ivo',
  'Jun',
  'Kai',
  'Lea',
  'Mo',
  'Nia',
  'Oto',
];
const SLOTS: readonly [slot: string, values: readonly string[]][] = [
  ['works at the office in', ['Lisbon', 'Oslo', 'Lima', 'Kyoto', 'Accra', 'Quito']],
  ['is responsible for the service', ['billing', 'search', 'login', 'mail', 'export', 'archive']],
  ['prefers to be reached by', ['phone', 'chat', 'letter', 'pager', 'radio']],
  ['drinks in the morning', ['tea', 'coffee', 'cocoa', 'water', 'juice']],
  ['reports to', ['Sam', 'Alex', 'Robin', 'Kim', 'Toni']],
  ['keeps the spare key in', ['the drawer', 'the safe', 'the kitchen', 'the car']],
  ['comes back from leave in', ['March', 'June', 'August', 'October']],
];
/** Forms in which a fact is repeated: other blanks and case, which merge automatically, and other words, which do not. */
const SAYINGS: readonly ((person: string, slot: string, value: string) => string)[] = [
  (person, slot, value) => `${person} ${slot} ${value}`,
  (person, slot, value) => `${person}  ${slot} ${value}.`,
  (person, slot, value) => `As we noted, ${person} ${slot} ${value}`,
  (person, slot, value) => `${person} said again: ${slot} ${value}`,
];

interface Figures {
  readonly entries: number;
  readonly duplicates: number;
  readonly stale: number;
  readonly recall: number;
}

/** A year of sessions that repeat, reword, change and contradict facts; with keys, and without but consolidated once a month. */
export async function printYear(): Promise<void> {
  console.log(`a year of ${SESSIONS} sessions${' '.repeat(9)}entries  duplicates  out of date  recall@10`);
  for (const wording of ['as it comes', 'with keys', 'consolidated'] as const) {
    const { entries, duplicates, stale, recall } = await year(wording);
    const shares = [duplicates, stale].map((share) => `${(share * 100).toFixed(1)} %`.padStart(12));
    console.log(
      `${wording.padEnd(30)}${String(entries).padStart(9)}${shares.join('')}${recall.toFixed(3).padStart(11)}`,
    );
  }
}

async function year(wording: 'as it comes' | 'with keys' | 'consolidated'): Promise<Figures> {
  const random = generator(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const store = longTermMemory({ file: ':memory:' });
  const truth = new Map<string, string>();
  for (let session = 0; session < SESSIONS; session++) {
    for (let fact = 0; fact < FACTS_A_SESSION; fact++) {
      const person = pick(PEOPLE);
      const [slot, values] = pick(SLOTS);
      const key = `${person}/${slot}`;
      // One fact in twenty is new or has changed, the others are repeated.
      const value = truth.get(key) === undefined || random() < 0.05 ? pick(values) : (truth.get(key) ?? '');
      truth.set(key, value);
      const text = pick(SAYINGS)(person, slot, value);
      const entry = { text, namespace: 'team', source: `assistant/${session}`, metadata: { key, value } };
      await store.add(wording === 'with keys' ? { ...entry, key: key.replaceAll(' ', '-') } : entry);
    }
    if (wording === 'consolidated' && session % 50 === 49) {
      const night = consolidation(store, { namespace: 'team', model: understanding });
      const { status } = await runAgent(night, {});
      if (status !== 'completed') throw new Error(`the consolidation ended with ${status}`);
    }
  }
  const figures = await judge(store, truth);
  await store.close();
  return figures;
}

type Store = ReturnType<typeof longTermMemory>;

/** A test double for a perfect model, so that the figures are the store's and not the model's. */
const understanding = scriptedModel(({ messages }) => {
  const { entries } = JSON.parse(String(messages[0]?.content)) as { entries: { entry: number; text: string }[] };
  const facts = Map.groupBy(entries, ({ text }) => factOf(text).key);
  const merge: { entries: number[]; text: string }[] = [];
  const outdated: number[] = [];
  for (const said of facts.values()) {
    const newest = said.at(-1);
    if (newest === undefined) continue;
    // The newest comes last and is valid; entries that contradict it are not.
    const same = said.filter(({ text }) => factOf(text).value === factOf(newest.text).value);
    outdated.push(...said.filter((one) => !same.includes(one)).map(({ entry }) => entry));
    if (same.length > 1) merge.push({ entries: same.map(({ entry }) => entry), text: newest.text });
  }
  return JSON.stringify({ merge, outdated });
});

function factOf(text: string): { key: string; value: string } {
  const person = PEOPLE.find((name) => text.includes(`${name} `)) ?? '';
  const [slot = ''] = SLOTS.find(([words]) => text.includes(words)) ?? [];
  return { key: `${person}/${slot}`, value: text.slice(text.indexOf(slot) + slot.length).replace(/[ .]/g, '') };
}

async function judge(store: Store, truth: ReadonlyMap<string, string>): Promise<Figures> {
  const all = await store.list({ namespace: 'team', limit: 100_000 });
  const said = new Set<string>();
  let duplicates = 0;
  let stale = 0;
  for (const { metadata } of all) {
    const fact = `${metadata?.key}=${metadata?.value}`;
    if (said.has(fact)) duplicates += 1;
    said.add(fact);
    if (truth.get(String(metadata?.key)) !== metadata?.value) stale += 1;
  }
  let found = 0;
  for (const [key, value] of truth) {
    const hits = await store.search(key.replace('/', ' '), { namespace: 'team', topK: 10, minScore: 0 });
    if (hits.some(({ metadata }) => metadata?.key === key && metadata.value === value)) found += 1;
  }
  return {
    entries: all.length,
    duplicates: duplicates / all.length,
    stale: stale / all.length,
    recall: found / truth.size,
  };
}
