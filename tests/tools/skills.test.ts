import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineTool, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { type SkillOptions, skills } from 'coxswain/tools';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { results, turn } from '../support/turns.ts';
import { folderWith } from './files.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const skill = (name: string, description = `About ${name}`, body = `Do ${name} well.`) =>
  `---\nname: ${name}\ndescription: ${description}\nlicense: MIT\n---\n\n# ${name}\n\n${body}\n`;

/** What is offered of a folder of the user's, and what was left out of it. */
async function offered(files: Record<string, string | Uint8Array>, options: SkillOptions = {}) {
  const left: string[] = [];
  const folder = folderWith(files);
  const onSkipped = (path: string, why: string) => left.push(`${path.replace(folder, '')}: ${why}`);
  const tools = await skills({ folders: [folder], project: folderWith(), onSkipped, ...options });
  return { folder, tools, left };
}

type Tools = Awaited<ReturnType<typeof skills>>;
async function read(tools: Tools, args: object, name = 'read_skill') {
  const model = scriptedModel([turn([name, args]), 'done']);
  const { messages } = await runAgent(defineAgent({ name: 'a', instructions: 'x', tools }), 'Go', { model });
  return { ...results(messages)[0], label: messages.find(({ role }) => role === 'tool')?.label };
}

test('an agent sees names and descriptions, and reads the instructions and the files when it needs them', async () => {
  const { tools, left } = await offered({
    'pdf/SKILL.md': skill('pdf', 'Fills forms'),
    'pdf/references/forms.md': 'Ask first.',
    'sums/SKILL.md': skill('sums'),
  });
  expect(left).toEqual([]);
  expect(tools.map(({ name, access }) => [name, access])).toEqual([['read_skill', 'read']]);
  expect(tools[0]?.description).toMatch(/Skills:\n- pdf: Fills forms\n- sums: About sums$/);
  expect(tools[0]?.description).not.toContain('Do pdf well');
  const { text, isError, label } = await read(tools, { name: 'pdf' });
  expect(text).toBe('# pdf\n\nDo pdf well.\n\nFiles of this skill: references/forms.md');
  expect(isError).toBe(false);
  expect(label?.integrity).toBe('trusted');
  expect((await read(tools, { name: 'pdf', file: 'references/forms.md' })).text).toBe('Ask first.');
  expect((await read(tools, { name: 'sums' })).text).toBe('# sums\n\nDo sums well.');
});

test('what does not exist is an error that says so, and the names that do are in the schema', async () => {
  const { tools } = await offered({ 'pdf/SKILL.md': skill('pdf') });
  expect(await read(tools, { name: 'word' })).toMatchObject({ isError: true, text: expect.stringContaining('"pdf"') });
  expect(await read(tools, { name: 'pdf', file: 'none.md' })).toMatchObject({ isError: true });
});

test('a project’s skills are left out until it is trusted', async () => {
  const project = folderWith({ '.agents/skills/pdf/SKILL.md': skill('pdf') });
  vi.spyOn(process, 'cwd').mockReturnValue(project);
  vi.stubEnv('HOME', folderWith());
  const warned = vi.spyOn(process, 'emitWarning');
  expect(await skills()).toEqual([]);
  expect(warned).not.toHaveBeenCalled();
  const [tool] = await skills({ trustProject: true });
  expect(tool).toMatchObject({ name: 'read_skill', result: { integrity: 'trusted' } });
});

test('a folder inside the project is the project’s, whoever named it, also by a link', async () => {
  const project = folderWith({ 'skills/pdf/SKILL.md': skill('pdf') });
  const elsewhere = folderWith();
  symlinkSync(join(project, 'skills'), join(elsewhere, 'mine'));
  for (const folder of [join(project, 'skills'), join(elsewhere, 'mine'), join(project, 'x/../skills')]) {
    const left: string[] = [];
    const onSkipped = (_: string, why: string) => left.push(why);
    expect(await skills({ folders: [folder], project, onSkipped })).toEqual([]);
    expect(left).toEqual(['it is the project’s, and trustProject is not set']);
  }
});

test('a project’s skills that nobody trusts have a tool of their own, and who read one sends nothing unasked', async () => {
  const project = folderWith({
    '.agents/skills/pdf/SKILL.md': skill('pdf'),
    '.agents/skills/sums/SKILL.md': skill('sums'),
  });
  vi.stubEnv('HOME', folderWith({ '.agents/skills/sums/SKILL.md': skill('sums', 'The user’s') }));
  const left: string[] = [];
  const tools = await skills({ project, trustProject: 'untrusted', onSkipped: (path) => left.push(path) });
  expect(tools.map(({ name }) => name)).toEqual(['read_project_skill']);
  expect(left).toEqual([expect.stringMatching(/sums$/)]);
  // A description is an instruction too: no word of theirs is in the prompt.
  expect(JSON.stringify([tools[0]?.description, tools[0]?.input.jsonSchema])).not.toMatch(/pdf|sums/);
  const listed = await read(tools, {}, 'read_project_skill');
  expect(listed).toMatchObject({ text: '- pdf: About pdf\n- sums: About sums', label: { integrity: 'untrusted' } });
  expect((await read(tools, { name: 'no' }, 'read_project_skill')).text).toContain('there are pdf, sums');
  const sent: string[] = [];
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    access: 'send',
    input: z.object({}),
    execute: () => sent.push('x'),
  });
  const model = scriptedModel([turn(['read_project_skill', { name: 'pdf' }]), turn(['send']), 'done']);
  const agent = defineAgent({ name: 'a', instructions: 'x', tools: [...tools, send] });
  await runAgent(agent, 'Go', { model, permissions: { mode: 'acceptAll' } });
  expect(sent).toEqual([]);
});

test('the user’s own are found in the home folder, and the project’s come first where it is trusted', async () => {
  const home = folderWith({
    '.agents/skills/pdf/SKILL.md': skill('pdf', 'The user’s'),
    '.agents/skills/mail/SKILL.md': skill('mail'),
  });
  const project = folderWith({ '.agents/skills/pdf/SKILL.md': skill('pdf', 'The project’s') });
  vi.stubEnv('HOME', home);
  const onSkipped = () => {};
  const [own] = await skills({ project, onSkipped });
  expect(own?.description).toContain('- mail: About mail\n- pdf: The user’s');
  const [both] = await skills({ project, trustProject: true, onSkipped });
  expect(both?.description).toContain('- pdf: The project’s\n- mail: About mail');
  const [home1] = await skills({ project: home, onSkipped });
  expect(home1?.description).toContain('- pdf: The user’s');
});

test.each([
  ['no head', 'Just text', 'it does not begin with a head'],
  ['a head without end', '---\nname: bad\n', 'it does not begin with a head'],
  ['broken YAML', '---\nname: [\n---\n', 'its head is no YAML'],
  ['a name twice', '---\nname: bad\nname: bad\ndescription: x\n---\n', 'its head is no YAML'],
  ['a list', '---\n- name\n---\n', 'its head is no map'],
  [
    'a bomb of aliases',
    `---\na: &a [x,x]\nb: &b [*a,*a]\nname: bad\ndescription: *b\n---\n`,
    'its head cannot be read',
  ],
  ['no name', '---\ndescription: x\n---\n', 'its name is not'],
  ['a name that is a path', '---\nname: ../pdf\ndescription: x\n---\n', 'its name is not'],
  ['the name of another', skill('other'), 'its name is other, and not that of its folder'],
  ['no description', '---\nname: bad\n---\n', 'it has no description'],
  ['a long description', skill('bad', 'x'.repeat(1_025)), 'its description is longer'],
  [
    'terminal controls',
    skill('bad', '"\\e[2J\\e[31mTrust me"'),
    'its description holds characters that cannot be seen',
  ],
  ['bidi marks', skill('bad', 'safe\u202etxt'), 'its description holds characters that cannot be seen'],
  ['a huge head', skill('bad', 'x'.repeat(20_000)), 'its head is longer'],
  ['a huge file', skill('bad', 'x', 'y'.repeat(300_000)), 'bytes; files of skills have 262,144'],
  ['bytes', new Uint8Array([0, 255, 254, 1]), 'is no text'],
])('a SKILL.md with %s is left out with the reason, and the others stay', async (_, text, why) => {
  const { tools, left } = await offered({ 'bad/SKILL.md': text, 'good/SKILL.md': skill('good') });
  expect(left).toEqual([expect.stringContaining(`/bad: `)]);
  expect(left[0]).toContain(why);
  expect(tools[0]?.description).toMatch(/Skills:\n- good: About good$/);
});

test('nothing leads out of a skill: links, other skills, absolute paths, devices', async () => {
  const { folder, tools, left } = await offered({
    'pdf/SKILL.md': skill('pdf'),
    'other/SKILL.md': skill('other'),
    'other/secret.md': 'of another skill',
  });
  symlinkSync('/etc/passwd', join(folder, 'pdf/passwd'));
  symlinkSync('/etc', join(folder, 'pdf/etc'));
  linkSync(join(folder, 'other/secret.md'), join(folder, 'pdf/hard'));
  for (const file of [
    'passwd',
    'etc/passwd',
    'hard',
    '../other/secret.md',
    '/etc/passwd',
    '..',
    'C:\\x',
    'a\u0000b',
    '',
  ]) {
    const { text = '', isError } = await read(tools, { name: 'pdf', file });
    expect(isError, file).toBe(true);
    expect(text).not.toMatch(/root:|of another skill/);
  }
  expect((await read(tools, { name: 'pdf' })).text).not.toMatch(/passwd|etc/);
  expect(left).toEqual([]);
});

test('a skill that is a link is left out, and so is one whose SKILL.md is one', async () => {
  const outside = folderWith({ 'linked/SKILL.md': skill('linked') });
  const folder = folderWith({ 'half/notes.md': 'x' });
  symlinkSync(join(outside, 'linked'), join(folder, 'linked'));
  symlinkSync(join(outside, 'linked/SKILL.md'), join(folder, 'half/SKILL.md'));
  const left: string[] = [];
  await skills({ folders: [folder], project: folderWith(), onSkipped: (path, why) => left.push(`${path}: ${why}`) });
  expect(left).toHaveLength(2);
  expect(left.join()).toContain('links are not followed');
});

test('a project whose folder of skills is a link that leads out of it is left out', async () => {
  const outside = folderWith({ 'pdf/SKILL.md': skill('pdf') });
  const project = folderWith();
  mkdirSync(join(project, '.agents'));
  symlinkSync(outside, join(project, '.agents/skills'));
  vi.stubEnv('HOME', folderWith());
  const left: string[] = [];
  expect(await skills({ project, trustProject: true, onSkipped: (_, why) => left.push(why) })).toEqual([]);
  expect(left).toEqual(['it leads out of the project']);
});

test('marks that nobody sees are shown in instructions and files', async () => {
  const body = 'Run it.\u001b[2J\u202eevil\u{e0041}';
  const { tools } = await offered({ 'pdf/SKILL.md': skill('pdf', 'x', body), 'pdf/a.txt': 'a\u0007b\tc\r\nd' });
  expect((await read(tools, { name: 'pdf' })).text).toContain('Run it.\\u{1b}[2J\\u{202e}evil\\u{e0041}');
  expect((await read(tools, { name: 'pdf', file: 'a.txt' })).text).toBe('a\\u{7}b\tc\nd');
});

test('many and long skills are offered as far as there is room', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `skill-${index}`);
  const files = Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skill(name, 'x'.repeat(1_000))]));
  const { tools, left } = await offered(files);
  expect(left).toHaveLength(25);
  expect(tools[0]?.description.length).toBeLessThan(17_000);
});

test('a skill that has changed or gone since the start is an error, not a surprise', async () => {
  const { folder, tools } = await offered({ 'pdf/SKILL.md': skill('pdf') });
  writeFileSync(join(folder, 'pdf/SKILL.md'), 'broken');
  expect(await read(tools, { name: 'pdf' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('pdf cannot be read any more'),
  });
});

test('what is left out is a warning where nobody asks', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  await skills({ folders: [folderWith({ 'bad/SKILL.md': 'x' })], project: folderWith() });
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('bad" is left out'), 'CoxswainWarning');
});

test.each([
  ['folders that are none', { folders: 'skills' }, 'skills.folders'],
  ['a folder that is missing', { folders: ['/no/such/folder'] }, 'skills.folders[0]'],
  ['all of the system', { folders: ['/'] }, 'skills.folders'],
  ['a trust that is none', { trustProject: 'yes' }, 'skills.trustProject'],
  ['an option that is none', { trusted: true }, 'skills.trusted'],
  ['a project that is missing', { project: '/no/such' }, 'skills.project'],
])('%s is refused, and the field named', async (_, options, field) => {
  const refused = skills(options as SkillOptions);
  await expect(refused).rejects.toMatchObject({ name: 'ConfigurationError', field: expect.stringContaining(field) });
});
