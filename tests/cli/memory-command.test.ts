import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longTermMemory } from 'coxswain/memory';
import { expect, it } from 'vitest';
import { cox, emptyFolder } from './cox.ts';

it('cox memory searches, lists, shows, exports and forgets', async () => {
  const cwd = emptyFolder();
  const notes = longTermMemory({ file: join(cwd, 'memory.db') });
  const { id } = await notes.add({ text: 'the door is blue\u001b[2J', namespace: 'team', source: 'wiki', key: 'door' });
  await notes.update(id, { text: 'the door is red', version: 1 });
  await notes.add({ text: 'poison', namespace: 'team', source: 'mail' });
  await notes.close();
  const run = async (...args: string[]) => cox(['memory', ...args], { cwd });

  expect((await run('search', 'which', 'door', '--namespace', 'team')).out).toMatch(
    /^0\.\d{3} {2}\S+ {2}the door is red {2}\(wiki\)\n$/,
  );
  expect((await run('search', 'elephant', '--namespace', 'team')).out).toBe('nothing\n');
  expect((await run('list')).out).toBe('       2  team\n');
  expect((await run('list', '--namespace', 'team')).out.split('\n')).toHaveLength(3);
  const shown = await run('show', id);
  expect(shown.out).toContain('(update)');
  expect(shown.out).toContain('the door is blue\\u001b[2J');
  expect(await run('show', 'nobody')).toMatchObject({ code: 1, out: '' });
  const exported = (await run('export')).out.trimEnd().split('\n');
  expect(exported.map((line) => JSON.parse(line).text)).toEqual([
    undefined,
    'the door is blue\u001b[2J',
    'the door is red',
    'poison',
  ]);
  expect((await run('forget', '--source', 'mail')).out).toBe('1 version removed\n');
  expect(await run('forget', id)).toMatchObject({ code: 0, out: 'removed\n' });
  expect(await run('forget', id)).toMatchObject({ code: 1 });
  expect(await run('forget')).toMatchObject({ code: 2, err: expect.stringContaining('--source or --origin') });
  expect(await run('list', '--namespace', 'nobody')).toMatchObject({ code: 0, out: 'nothing\n' });
  expect(await run('search', 'x', '--namespace', 'team', '--top', 'all')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/--top: .*"all"/),
  });
  expect((await run('list')).out).toBe('');
}, 60_000);

it('cox memory makes no file where there is none', async () => {
  const missing = await cox(['memory', 'list', '--file', 'none.db']);
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('none.db') });
});

it('cox memory files says where each line came from', async () => {
  const cwd = emptyFolder();
  mkdirSync(join(cwd, 'src'));
  writeFileSync(join(cwd, 'AGENTS.md'), 'Use tabs.\n');
  writeFileSync(join(cwd, 'src/AGENTS.md'), 'Use spaces.\n');
  const env = { HOME: cwd };
  const trusted = await cox(['memory', 'files', 'src', '--trusted'], { cwd, env });
  expect(trusted.out.replaceAll(cwd, '')).toMatch(
    /^project {2}.*\/AGENTS\.md:1 {2}Use tabs\.\nnested {2}.*\/src\/AGENTS\.md:1 {2}Use spaces\.\n$/,
  );
  const wary = await cox(['memory', 'files', 'src'], { cwd, env });
  expect(wary).toMatchObject({ out: '', err: expect.stringContaining('not trusted') });
});
