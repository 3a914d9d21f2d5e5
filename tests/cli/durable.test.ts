import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cox, emptyFolder, fixture, startCox } from './cox.ts';

const HARBOUR = fixture('harbour.ts');
const QUAY = fixture('quay.ts');
const NAMED = ['--journal', 'runs.db'];

/** Whether a text holds a control character other than a line's end, or one that turns the direction of writing. */
const controls = (text: string) => /[^\P{Cc}\n]|\u202e/u.test(text);
const idOf = (err: string) => /^run ([\w-]+)[,;]/m.exec(err)?.[1] ?? '';
/** The words of a command that was shown to resume with. */
const shown = (text: string, command: string) =>
  new RegExp(`cox (${command} [^\n(]*)`).exec(text)?.[1]?.trim().split(' ') ?? [];
const effects = (cwd: string) => readFileSync(join(cwd, 'effects.txt'), 'utf8').trimEnd().split('\n');

describe('a run with a journal', () => {
  test('parks where it must ask, is decided by another process once, and goes on in a third', async () => {
    const cwd = emptyFolder();
    const first = await cox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd });
    expect(first.code).toBe(3);
    expect(first.err).toContain('  waits: captain/3.0/@approval  captain asks to call enter {"text":"bar \\u001b[2J');
    const runId = idOf(first.err);

    const listed = await cox(['runs', ...NAMED], { cwd });
    expect(listed.out).toContain(`${runId}  suspended  captain  75 tokens, `);
    expect(listed.out).toContain('  waits: captain/3.0/@approval  captain asks to call enter');

    const approved = await cox(shown(first.err, 'approve'), { cwd });
    expect(approved).toMatchObject({
      code: 0,
      err: expect.stringContaining(`to resume: cox resume --journal runs.db`),
    });
    const late = await cox(['approve', runId, 'captain/3.0/@approval', '--deny', ...NAMED], { cwd });
    expect(late).toMatchObject({
      code: 1,
      err: expect.stringContaining('was decided before. The first decision wins.'),
    });

    const last = await cox(shown(first.err, 'resume'), { cwd });
    expect(last).toMatchObject({ code: 0, out: 'Over the bar.\n' });
    expect(effects(cwd).map((line) => line.split(' ')[0])).toEqual(['sound', 'enter']);
    const again = await cox(['resume', HARBOUR, runId, ...NAMED], { cwd });
    expect(again).toMatchObject({ code: 0, out: 'Over the bar.\n' });
    expect(effects(cwd)).toHaveLength(2);
    for (const { out, err } of [first, listed, approved, late, last]) expect(controls(out + err)).toBe(false);
  });

  test('is left by Ctrl-C so that it can go on, and says how', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { PILOT_WAITS: '1' } });
    await run.says('waiting for the pilot');
    run.child.kill('SIGINT');
    const { code, err } = await run.ended;
    expect(code).toBe(130);
    expect(err).toContain('aborted: ');
    const last = await cox(shown(err.slice(err.indexOf('to resume')), 'resume'), { cwd });
    expect(last.err).toContain('pilot gave the pilot is on board');
    expect(last.code).toBe(3);
    expect(effects(cwd)).toHaveLength(1);
  });

  test('survives kill -9: it is listed as died, and goes on without doing again what was done', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { PILOT_WAITS: '1' } });
    await run.says('waiting for the pilot');
    const [alive, refused] = await Promise.all([
      cox(['runs', ...NAMED, '--json'], { cwd }),
      cox(['runs', ...NAMED], { cwd }).then(({ out }) =>
        cox(['resume', HARBOUR, out.split(' ')[0] ?? '', ...NAMED], { cwd }),
      ),
    ]);
    expect(JSON.parse(alive.out)).toMatchObject({ state: 'running', owner: { pid: run.child.pid } });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(`under way in process ${run.child.pid}`) });
    run.child.kill('SIGKILL');
    const runId = idOf((await run.ended).err);
    expect((await cox(['runs', ...NAMED], { cwd })).out).toContain(`${runId}  died       captain`);
    const last = await cox(['resume', HARBOUR, runId, ...NAMED], { cwd });
    expect(last.code).toBe(3);
    expect(effects(cwd)).toHaveLength(1);
  });

  test('whose prompt has changed says so and goes on, or goes on in a fork', async () => {
    const cwd = emptyFolder();
    const env = { INSTRUCTIONS: 'Bring her in, slowly.' };
    const { err } = await cox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd });
    const runId = idOf(err);
    const stopped = await cox(['resume', HARBOUR, runId, '--on-divergence', 'stop', ...NAMED], { cwd, env });
    expect(stopped).toMatchObject({
      code: 1,
      err: expect.stringContaining('something else than recorded (instructions: recorded sha256 '),
    });
    const forked = await cox(['resume', HARBOUR, runId, '--on-divergence', 'fork', ...NAMED], { cwd, env });
    const fork = /continues in its fork ([\w-]+)/.exec(forked.err)?.[1] ?? '';
    expect(shown(forked.err.slice(forked.err.indexOf('to resume')), 'resume').at(-1)).toBe(fork);
    expect((await cox(['runs', ...NAMED], { cwd })).out).toContain(`ago, forked from ${runId}`);
  });

  test('that stays and waits hears another process', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', QUAY, 'wait', ...NAMED], { cwd });
    await run.says('needs approval');
    const runId = (await cox(['runs', ...NAMED], { cwd })).out.split(' ')[0] ?? '';
    const said = await cox(['approve', runId, 'hand/1.0/@approval', '--args', '{"lines":2}', ...NAMED, '--json'], {
      cwd,
    });
    expect(JSON.parse(said.out)).toMatchObject({
      run: runId,
      decision: { decision: 'allow', args: { lines: 2 } },
      isParked: false,
    });
    expect(await run.ended).toMatchObject({ code: 0, out: 'Done: fast with 2 lines\n' });
  });

  test('is cancelled by another process, also while it is parked', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', QUAY, 'wait', ...NAMED], { cwd });
    await run.says('needs approval');
    const runId = (await cox(['runs', ...NAMED], { cwd })).out.split(' ')[0] ?? '';
    expect((await cox(['cancel', runId, '--reason', 'fog', ...NAMED], { cwd })).code).toBe(0);
    const { code, err } = await run.ended;
    expect(err).toContain('cancelled: fog');
    expect(code).toBe(1);
    const over = await cox(['cancel', runId, ...NAMED], { cwd });
    expect(over).toMatchObject({ code: 1, err: expect.stringContaining('is over: cancelled') });
  });

  test('is told something by another process, and does what it says', async () => {
    const cwd = emptyFolder();
    const run = startCox(['run', QUAY, 'wait', ...NAMED], { cwd });
    await run.says('needs approval');
    const runId = (await cox(['runs', ...NAMED], { cwd })).out.split(' ')[0] ?? '';
    const said = await cox(['steer', runId, 'hand', 'mind', 'the tide', ...NAMED, '--json'], { cwd });
    expect(JSON.parse(said.out)).toMatchObject({ run: runId, path: 'hand', id: expect.stringMatching(/^@steer /) });
    const nobody = await cox(['steer', runId, 'hand/7.0/mate', 'hello', ...NAMED], { cwd });
    expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining('there is no hand/7.0/mate in this run') });
    await cox(['approve', runId, 'hand/1.0/@approval', ...NAMED], { cwd });
    const { err } = await run.ended;
    expect(err).toContain('message from operator: mind the tide');
  });

  test('of a function names its words again, and a question is answered with JSON', async () => {
    const cwd = emptyFolder();
    const env = { COX_JOURNAL: 'runs.db' };
    const first = await cox(['run', QUAY, 'ask', "the King's Ship"], { cwd, env });
    expect(first.err).toContain(`berth asks: {"question":"Which berth for the King's Ship?"}`);
    expect(first.err).toContain(`quay.ts ${idOf(first.err)} ask 'the King'\\''s Ship'`);
    const id = ['approve', idOf(first.err), 'berth/number'];
    expect(await cox(id, { cwd, env })).toMatchObject({
      code: 2,
      err: expect.stringContaining('allow does not answer a question'),
    });
    expect((await cox([...id, '--answer', '{"number":7}'], { cwd, env })).code).toBe(0);
    const last = await cox(['resume', QUAY, idOf(first.err), 'ask', "the King's Ship"], { cwd, env });
    expect(last).toMatchObject({ code: 0, out: "the King's Ship goes to berth 7\n" });
  });

  test('goes to .runs/runs.db where COX_JOURNAL says so, and is not kept where nothing does', async () => {
    const cwd = emptyFolder();
    await cox(['run', fixture('lookout.ts'), 'hi'], { cwd });
    expect(existsSync(join(cwd, '.runs/runs.db'))).toBe(false);
    await cox(['run', fixture('lookout.ts'), 'hi'], { cwd, env: { COX_JOURNAL: '.runs/runs.db' } });
    expect((await cox(['runs'], { cwd })).out).toContain('completed  lookout  15 tokens');
  });
});
