import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRun } from 'coxswain';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import research from '../../examples/research-team/team.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENTS = join(ROOT, 'examples/research-team/documents');
const KEYS = ['LLM_MODEL', 'LLM_BASE_URL', 'LLM_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'];
const made: string[] = [];

beforeEach(() => {
  for (const key of KEYS) vi.stubEnv(key, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderOf(files: { readonly [path: string]: string | Uint8Array }): string {
  const root = mkdtempSync(join(tmpdir(), 'research-'));
  made.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

/** What `npm start -- …` runs, in a folder of its own, so that the log of the run stays out of the project. */
function start(...args: string[]): Promise<{ code: number; out: string; err: string; cwd: string }> {
  const script: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts.start;
  const [, condition = '', cox = '', run = '', team = ''] = script.split(' ');
  const command = [condition, join(ROOT, cox), run, join(ROOT, team), ...args];
  const env = { ...process.env };
  for (const key of KEYS) delete env[key];
  const cwd = folderOf({});
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err, cwd });
    });
  });
}

/** Blockquotes with the place below each. */
function evidenceOf(report: string): { paragraph: string; claim: string; path: string; line: number }[] {
  const found = report.matchAll(/((?:^>.*\n)+)\n- ((?:.|\n {2})+) (\S.*):(\d+)$/gm);
  return [...found].map(([, quote = '', claim = '', rest = '', line = '']) => {
    const paragraph = quote.trimEnd().replace(/^> ?/gm, '');
    // The claim may hold blanks, and so may the path: the claim is what the paragraph holds.
    const words = `${claim} ${rest}`.split(' ');
    const end = words.findLastIndex((_, at) =>
      paragraph.includes(
        words
          .slice(0, at + 1)
          .join(' ')
          .replaceAll('\n  ', '\n'),
      ),
    );
    return {
      paragraph,
      claim: words.slice(0, end + 1).join(' '),
      path: words.slice(end + 1).join(' '),
      line: Number(line),
    };
  });
}

const places = (report: string) => evidenceOf(report).map(({ path, line }) => `${path}:${line}`);

describe('npm start', () => {
  test('prints a report in which every quote stands in its file at its line', async () => {
    const { code, out } = await start();
    expect(code).toBe(0);
    const evidence = evidenceOf(out);
    expect(evidence.length).toBeGreaterThanOrEqual(5);
    for (const { paragraph, claim, path, line } of evidence) {
      const lines = readFileSync(join(DOCUMENTS, path), 'utf8').split('\n');
      const quoted = paragraph.split('\n');
      expect(lines.slice(line - 1, line - 1 + quoted.length)).toEqual(quoted);
      expect(claim).not.toBe('');
    }
    expect(out).toContain('not by a language model');
    expect(out).not.toContain('nothing found');
    // The list and the log disagree, and both are shown.
    expect(places(out)).toEqual(expect.arrayContaining(['light-list.md:9', 'logbook-1931.md:5']));
  });

  test('leaves a log of every step of every worker', async () => {
    const { cwd, err } = await start('How often is the lens washed?');
    const file = /^log: (.+)$/m.exec(err)?.[1] ?? '';
    const lines = readFileSync(join(cwd, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(new Set(lines.map(({ traceId }) => traceId)).size).toBe(1);
    const workers = ['lead/1.1/reader', 'lead/1.2/indexer', 'lead/1.3/doubter', 'lead/2.0/checker'];
    expect(lines.map(({ path }) => path)).toEqual(expect.arrayContaining(['lead', ...workers]));
  });

  test('takes a question and any folder', async () => {
    const folder = folderOf({
      'sub dir/Größe.md': '# Tariffs\r\n\r\nThe ferry costs\r\nnine crowns a head.\r\n\r\nDogs ride free.',
    });
    const { code, out } = await start('What does the ferry cost a head?', folder);
    expect(code).toBe(0);
    expect(evidenceOf(out)).toEqual([
      {
        paragraph: 'The ferry costs\nnine crowns a head.',
        claim: 'The ferry costs\n  nine crowns a head.',
        path: 'sub dir/Größe.md',
        line: 3,
      },
    ]);
  });

  test('says nothing found, and ends well', async () => {
    const { code, out } = await start('How do quantum flamingos negotiate mortgages?');
    expect(code).toBe(0);
    expect(out).toContain('nothing found');
    expect(evidenceOf(out)).toEqual([]);
  });

  test.each([
    ['does not exist', () => '/no/such/folder'],
    ['no Markdown or text file', () => folderOf({ 'a.png': 'x' })],
    ['is not a folder', () => join(folderOf({ 'a.md': 'x' }), 'a.md')],
    // As of a variable of the shell that is not set: without this the current folder would be read.
    ['empty', () => ''],
  ])('a folder that %s is refused with a message and a code', async (problem, folder) => {
    const { code, err } = await start('Who pays the ferry?', folder());
    expect(code).toBe(2);
    expect(err).toContain('folder');
    expect(err).toContain(problem);
    expect(err).not.toMatch(/^\s+at /m);
  });

  test('reads what it can beside a huge and a binary file, and names them', async () => {
    const folder = folderOf({ 'a.md': 'The ferry costs nine crowns.', 'b.md': Uint8Array.of(0, 1, 2), 'c.md': '' });
    truncateSync(join(folder, 'c.md'), 1024 ** 3);
    const { code, out } = await start('What does the ferry cost?', folder);
    expect(code).toBe(0);
    expect(places(out)).toEqual(['a.md:1']);
    expect(out).toContain('b.md (binary), c.md (1 GB, over 2 MB)');
  });
});

describe('the team', () => {
  const answer = async (
    question: string,
    folder: string,
    watch: (run: ReturnType<typeof startRun>) => void = () => {},
  ) => {
    const { agent, input, options } = research([question, folder]);
    const run = startRun(agent, input, options);
    watch(run);
    return run.result;
  };

  test('has three researchers at work at once, then one checker', async () => {
    const order: string[] = [];
    const result = await answer('How often is the lens washed with spirit?', DOCUMENTS, (run) => {
      run.on('agent.start', ({ agent }) => order.push(`+${agent}`));
      run.on('agent.end', ({ agent }) => order.push(`-${agent}`));
    });
    expect(result.status).toBe('completed');
    expect(order.slice(0, 4).toSorted()).toEqual(['+doubter', '+indexer', '+lead', '+reader']);
    expect(order.slice(-3)).toEqual(['+checker', '-checker', '-lead']);
    expect(places(result.text)).toEqual(['lamp.md:21']);
  });

  test('drops a claim whose words leave the file while the team works', async () => {
    const folder = folderOf({
      'a.md': 'The ferry costs nine crowns.',
      'b.md': 'The ferry costs ten crowns on Sundays.',
    });
    const result = await answer('What does the ferry cost?', folder, (run) => {
      run.on('tool.end', ({ name }) => {
        if (name === 'search_documents') writeFileSync(join(folder, 'a.md'), 'The ferry costs eleven crowns.');
      });
    });
    expect(places(result.text)).toEqual(['b.md:1']);
    expect(result.text).not.toMatch(/nine|eleven/);
    expect(result.text).toContain('the file does not contain these words: a.md line 1');
  });

  test('shows what an edited source says now', async () => {
    const folder = folderOf({ 'a.md': 'The ferry costs nine crowns.' });
    expect((await answer('What does the ferry cost?', folder)).text).toContain('> The ferry costs nine crowns.');
    writeFileSync(join(folder, 'a.md'), '# Closed\n\nThe pier is closed.');
    expect((await answer('What does the ferry cost?', folder)).text).toContain('nothing found');
  });

  test('never reads through a link out of the folder', async () => {
    const out = folderOf({ 'secret.md': 'The ferry costs OUTSIDE.' });
    const folder = folderOf({ 'a.md': 'The ferry costs nine crowns.' });
    symlinkSync(join(out, 'secret.md'), join(folder, 'b.md'));
    symlinkSync(out, join(folder, 'c'));
    const { text } = await answer('What does the ferry cost?', folder);
    expect(places(text)).toEqual(['a.md:1']);
    expect(text).not.toContain('OUTSIDE');
  });

  test('leaves out what only shares a common word with the question', async () => {
    const filler = Array.from({ length: 8 }, (_, day) => `On day ${day} the ferry was late.`).join('\n\n');
    const folder = folderOf({ 'log.txt': filler, 'tariff.txt': 'The ferry tariff was set by Ana Holt.' });
    expect(places((await answer('Who set the ferry tariff?', folder)).text)).toEqual(['tariff.txt:1']);
  });

  test('quotes a quote, a table and code whole, and of a list the item that has the words', async () => {
    const quote = '> The ferry bell\n> rings twice.';
    const table = '| ferry | bell |\n| --- | --- |\n| one | two |';
    const code = '```\nferry --bell\n\nstop\n```';
    const folder = folderOf({ 'a.md': [quote, '- ferry bell\n- ferry horn', table, code].join('\n\n') });
    const quoted = evidenceOf((await answer('ferry bell', folder)).text).map(({ paragraph }) => paragraph);
    expect(quoted.toSorted()).toEqual([quote, '- ferry bell', table, code].toSorted());
  });

  test('quotes a list whole when its heading is what was asked for', async () => {
    const list = '- rope\n- tea\n- salt';
    const folder = folderOf({ 'a.md': `# Ferry stores\n\n${list}\n\n# Bell\n\nNone.` });
    expect(evidenceOf((await answer('What are the ferry stores?', folder)).text)).toEqual([
      { paragraph: list, claim: 'rope', path: 'a.md', line: 3 },
    ]);
  });

  test('gives the same report to the same question', async () => {
    const question = 'How is the lamp kept burning, and who decides when the fog signal sounds?';
    const [one, two] = await Promise.all([answer(question, DOCUMENTS), answer(question, DOCUMENTS)]);
    expect(two.text).toBe(one.text);
  });

  test('refuses a missing question and too many arguments by name', () => {
    expect(() => research([' '])).toThrow(expect.objectContaining({ field: 'question' }));
    expect(() => research([DOCUMENTS])).toThrow(expect.objectContaining({ field: 'question' }));
    expect(() => research(['a', 'b', 'c'])).toThrow(expect.objectContaining({ field: 'input' }));
  });
});
