import { came, type Row } from '../team.ts';

export const malformedArguments: Row = {
  id: 'malformed-arguments',
  title: 'A call with a comma too many and a word of the wrong type',
  good: 'it does not run; the model reads what is wrong, and where',
  async play(contender) {
    const given: unknown[] = [];
    const read: string[] = [];
    const look = {
      name: 'look',
      execute: (query: unknown) => {
        given.push(query);
        return 'SEEN';
      },
    };
    const RAW = ['{"query": 5}', '{"query": "a" "b"}', '{"query": "right"}'];
    const ran = await came(
      contender.run({
        lead: { name: 'lead', tools: [look] },
        task: 'Start',
        think: ({ text, turn }) => {
          read.push(text);
          const raw = RAW[turn - 1];
          return raw === undefined ? { text: 'done' } : { calls: [{ to: 'look', raw }] };
        },
      }),
    );
    if (ran.error !== undefined) return { ok: false, saw: `the run ended: ${ran.error.slice(0, 80)}` };
    const wrong = given.filter((query) => query !== 'right');
    if (wrong.length > 0) return { ok: false, saw: `ran with ${JSON.stringify(wrong[0] ?? null)}` };
    if (given.length !== 1) return { ok: false, saw: 'the right call did not run' };
    const [, type = '', syntax = ''] = read;
    const saysType = /query/.test(type.slice(read[0]?.length ?? 0)) && /string/i.test(type);
    const saysSyntax = /json|position|parse|syntax|unexpected/i.test(syntax.slice(type.length - 1));
    if (!saysType) return { ok: false, saw: 'a wrong type is not named' };
    return saysSyntax ? { ok: true, saw: 'precise' } : { ok: false, saw: 'broken JSON is not named' };
  },
};
