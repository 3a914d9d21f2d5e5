import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ApprovalRequest,
  ConfigurationError,
  type Decision,
  defineAgent,
  defineTool,
  type RunPermissions,
  runAgent,
} from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

function folder(files: { readonly [name: string]: object | string } = {}): string {
  const made = mkdtempSync(join(tmpdir(), 'permissions-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(made, name), typeof content === 'string' ? content : JSON.stringify(content));
  return made;
}

const save = (access: 'write' | 'read' = 'write') =>
  defineTool({
    name: 'save',
    description: 'Saves',
    access,
    input: z.object({ path: z.string() }),
    result: { integrity: 'trusted' },
    execute: ({ path }) => `saved ${path}`,
  });

/** Which of the paths were asked for, and which were saved. */
async function play(
  permissions: RunPermissions,
  paths: readonly string[],
  answer: (request: ApprovalRequest) => Decision = () => ({ decision: 'deny' }),
) {
  const asked: ApprovalRequest[] = [];
  const model = scriptedModel([...paths.map((path) => callTools(toolCall('save', { path }))), 'done']);
  const agent = defineAgent({ name: 'lead', instructions: 'x', tools: [save()], permissions: {} });
  const { messages } = await runAgent(agent, 'go', {
    model,
    permissions,
    approve(request) {
      asked.push(request);
      return answer(request);
    },
  });
  const results = messages.filter(({ role }) => role === 'tool');
  const saved = results.flatMap(({ content }) =>
    String(content).startsWith('saved ') ? [String(content).slice(6)] : [],
  );
  return { asked: asked.map(({ args }) => (args as { path: string }).path), saved, requests: asked };
}

async function warned(work: () => Promise<unknown>): Promise<string[]> {
  const warnings: string[] = [];
  const heard = ({ message }: Error) => warnings.push(message);
  process.on('warning', heard);
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', heard);
  return warnings;
}

test('a file may allow, ask and deny; code’s own denial stands', async () => {
  const place = folder({ 'coxswain.json': { rules: ['allow save:out/**', 'deny save:**/.env'] } });
  const files = { project: join(place, 'coxswain.json') };
  expect(await play({ files }, ['out/a', 'b', 'out/.env'])).toMatchObject({ asked: ['b'], saved: ['out/a'] });
  expect(await play({ files, rules: ['deny save'] }, ['out/a'])).toMatchObject({ asked: [], saved: [] });
});

test('the strictest of code, project and user counts', async () => {
  const place = folder({
    'coxswain.json': { mode: 'ask' },
    'user.json': { mode: 'plan' },
    'rules.json': { rules: ['ask save'] },
  });
  const project = join(place, 'coxswain.json');
  expect(await play({ mode: 'acceptAll', files: { project } }, ['a'])).toMatchObject({ asked: ['a'] });
  expect(await play({ mode: 'acceptAll', files: { user: join(place, 'rules.json') } }, ['a'])).toMatchObject({
    asked: ['a'],
  });
  expect(await play({ mode: 'acceptAll', files: { project, user: join(place, 'user.json') } }, ['a'])).toMatchObject({
    asked: [],
    saved: [],
  });
  expect(await play({ mode: 'acceptAll', files: { project: join(place, 'none.json') } }, ['a'])).toMatchObject({
    saved: ['a'],
  });
});

test('a wider mode, and a rule for a tool that is not there, do not count and are said', async () => {
  const place = folder({ 'coxswain.json': { mode: 'acceptAll', rules: ['deny rm'] } });
  const files = { project: join(place, 'coxswain.json') };
  const warnings = await warned(async () => {
    expect(await play({ files }, ['a'])).toMatchObject({ asked: ['a'], saved: [] });
  });
  expect(warnings).toEqual([
    expect.stringContaining("mode 'acceptAll' is wider than 'ask'"),
    expect.stringContaining("the rule 'deny rm' names no tool"),
  ]);
});

test.each([
  [{ trust: ['save'] }, /coxswain\.json trust: a file may not set this/],
  [{ rules: ['allow! save'] }, /rules\[0\]: only code may give/],
  [{ rules: ['allow save:[a]'] }, /rules\[0\]/],
  [{ rules: 'allow save' }, /rules: expected an array/],
  [{ mode: 'bypass' }, /mode: unknown mode/],
  [{ mode: 'constructor' }, /mode: unknown mode/],
  ['[]', /expected an object/],
  ['{"rules":[],"rules":["allow save"]}', /duplicate key/],
  ['{"__proto__":{"mode":"acceptAll"}}', /forbidden key/],
  ['not json', /no JSON/],
  [' '.repeat(70_000), /longer than 64 kB/],
])('%j in a file stops the start', async (content, problem) => {
  const files = { project: join(folder({ 'coxswain.json': content }), 'coxswain.json') };
  await expect(play({ files }, ['a'])).rejects.toThrow(problem);
});

test('a link in its place is refused, and so is a name that is none', async () => {
  const place = folder({ 'other.json': { rules: [] } });
  symlinkSync('other.json', join(place, 'coxswain.json'));
  await expect(play({ files: { project: join(place, 'coxswain.json') } }, ['a'])).rejects.toThrow(ConfigurationError);
  await expect(play({ files: { project: '' } }, ['a'])).rejects.toThrow(/permissions\.files\.project/);
  await expect(play({ files: { folder: '.' } as never }, ['a'])).rejects.toThrow(/permissions\.files\.folder/);
});

test('always writes one exact rule into the project’s file, where it is seen and holds for the next run', async () => {
  const place = folder({ 'coxswain.json': { mode: 'ask', rules: ['deny save:**/.env'] } });
  const project = join(place, 'coxswain.json');
  const always = ({ always: rule }: ApprovalRequest): Decision => ({ decision: 'allow', always: rule !== undefined });
  const first = await play({ files: { project } }, ['notes/a', 'notes/a', 'notes/b'], (request) =>
    request.args !== undefined && (request.args as { path: string }).path === 'notes/a'
      ? always(request)
      : { decision: 'deny' },
  );
  expect(first).toMatchObject({ asked: ['notes/a', 'notes/b'], saved: ['notes/a', 'notes/a'] });
  expect(first.requests[0]?.always).toBe('allow save:notes/a');
  const text = readFileSync(project, 'utf8');
  expect(JSON.parse(text)).toEqual({ mode: 'ask', rules: ['deny save:**/.env', 'allow save:notes/a'] });
  expect(text).toContain('\n    "allow save:notes/a"\n');
  expect(await play({ files: { project } }, ['notes/a', 'notes/c'])).toMatchObject({ asked: ['notes/c'] });
});

test('what a file allows makes what code allows no narrower', async () => {
  const place = folder({ 'coxswain.json': { rules: ['allow save:notes/a'] } });
  const files = { project: join(place, 'coxswain.json') };
  const played = await play({ rules: ['allow save:out/**'], files }, ['out/x', 'notes/a', 'b']);
  expect(played).toMatchObject({ saved: ['out/x'], asked: ['notes/a', 'b'] });
  expect(await play({ mode: 'acceptAll', files }, ['notes/a', 'b'])).toMatchObject({
    saved: ['notes/a'],
    asked: ['b'],
  });
});

test('a denied flow names the lines that would allow it, the narrowest first', async () => {
  const read = defineTool({
    name: 'search',
    description: 'x',
    access: 'read',
    input: z.object({}),
    execute: () => 'x',
  });
  const agent = defineAgent({ name: 'lead', instructions: 'x', tools: [read, save()] });
  const model = scriptedModel([
    callTools(toolCall('search', {})),
    callTools(toolCall('save', { path: 'out/a' })),
    'done',
  ]);
  const { messages } = await runAgent(agent, 'go', { model, permissions: { mode: 'acceptAll' } });
  const denial = String(messages.findLast(({ role }) => role === 'tool')?.content);
  const lines = [...denial.matchAll(/`([^`]+)`/g)].map(([, line]) => line);
  expect(lines).toEqual(['allow! save:out/a', 'allow! save', "permissions: { trust: ['search'] }"]);
  for (const permissions of [{ rules: ['allow! save:out/a'] }, { trust: ['search'] }]) {
    const again = scriptedModel([
      callTools(toolCall('search', {})),
      callTools(toolCall('save', { path: 'out/a' })),
      'done',
    ]);
    const result = await runAgent(agent, 'go', { model: again, permissions: { mode: 'acceptAll', ...permissions } });
    expect(result.messages.findLast(({ role }) => role === 'tool')?.content).toBe('saved out/a');
  }
});
