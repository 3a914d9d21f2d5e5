import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cox, emptyFolder, fixture, ROOT, startCox } from './cox.ts';

/** Whether a text holds a control character other than a line's end, or one that turns the direction of writing. */
const controls = (text: string) => /[^\P{Cc}\n]|\u202e/u.test(text);

const lines = (text: string) => text.trimEnd().split('\n');

describe('cox run', () => {
  test('prints the result on stdout and nothing else, the progress on stderr', async () => {
    const { code, out, err } = await cox(['run', fixture('lookout.ts'), 'what', 'is there?']);
    expect(out).toBe('You asked: what is there?\n');
    expect(code).toBe(0);
    expect(err).toContain('lookout  starts: what is there?');
    expect(err).toContain('15 tokens');
    expect(err).not.toContain(String.fromCharCode(27));
  });

  test('prefixes each line with the path of who did it', async () => {
    const { err } = await cox(['run', fixture('crew.ts'), 'nasty']);
    expect(err).toMatch(/^captain {2}starts: nasty$/m);
    expect(err).toMatch(/^captain\/1\.0\/mate {2}starts: Look/m);
    expect(err).toMatch(/^captain\/1\.0\/mate {2}calls look /m);
    expect(err).toMatch(/^captain\/1\.0\/mate {2}completed /m);
  });

  test('shows no control characters of models and tools, and gives the result to a pipe as it is', async () => {
    const { out, err } = await cox(['run', fixture('crew.ts'), 'nasty']);
    expect(controls(err)).toBe(false);
    expect(err).toContain('\\u001b[2J\\u0007\\u202e wiped');
    expect(out).toBe('Land \u001b[2J\u0007\u202e wiped \u009b31m\n');
  });

  test('prints the output as JSON where the agent has a schema for it', async () => {
    const { code, out } = await cox(['run', fixture('counter.ts'), 'well']);
    expect(JSON.parse(out)).toEqual({ count: 3 });
    expect(code).toBe(0);
  });

  test('prints nothing on stdout where the output does not fit', async () => {
    const { code, out, err } = await cox(['run', fixture('counter.ts'), 'badly']);
    expect(out).toBe('');
    expect(err).toContain('invalid_output');
    expect(code).toBe(1);
  });

  test('ends with 4 at a limit, and prints what the agent had', async () => {
    const { code, out, err } = await cox(['run', fixture('crew.ts'), 'steps']);
    expect(out).toBe('What I have so far.\n');
    expect(err).toContain('limit: steps 1 of 1');
    expect(code).toBe(4);
  });

  test('denies what needs an approval when nobody is there, and names the rule that would allow it', async () => {
    const { code, out, err } = await cox(['run', fixture('crew.ts'), 'write']);
    expect(err).toContain('needs approval: write_log {"text":"a\\u200bb"}');
    expect(err).toContain('`allow write_log`');
    expect(out).toBe('After the log.\n');
    expect(code).toBe(0);
  });

  test('ends with 3 where the module wants such runs parked', async () => {
    const { code, out, err } = await cox(['run', fixture('crew.ts'), 'write', 'suspend']);
    expect(out).toBe('');
    expect(err).toContain('captain  starts: suspend\n');
    expect(err).toContain('waits: captain/1.0/@approval');
    expect(code).toBe(3);
  });

  test('leaves no open handle of the module to wait for', async () => {
    const folder = emptyFolder();
    const module = join(folder, 'open.mjs');
    writeFileSync(
      module,
      `setInterval(() => {}, 1000);\nexport { default } from ${JSON.stringify(fixture('lookout.ts'))};`,
    );
    expect((await cox(['run', module, 'hi'])).code).toBe(0);
  });

  test('takes a module relative to the current folder', async () => {
    const { out } = await cox(['run', 'lookout.ts', 'hi', '--no-log'], { cwd: fixture('.') });
    expect(out).toBe('You asked: hi\n');
  });
});

describe('usage and configuration', () => {
  test.for([
    ['an input that is missing', ['run', fixture('lookout.ts')], 'input: missing.'],
    ['a file that is missing', ['run', 'nowhere.ts'], 'file: there is no file nowhere.ts.'],
    ['a module without an agent', ['run', fixture('../cox.ts')], 'exports neither a default nor an agent'],
    ['no model anywhere', ['run', fixture('no-model.ts'), 'hi'], 'LLM_BASE_URL'],
    ['what the module calls misconfigured', ['run', fixture('crew.ts'), 'dance'], 'how: got dance. Say one of'],
    ['a log whose folder is missing', ['run', fixture('lookout.ts'), 'hi', '--log', '/nowhere/a.jsonl'], '/nowhere'],
    ['a log that is a folder', ['run', fixture('lookout.ts'), 'hi', '--log', fixture('.')], 'is a folder. Name a file'],
    ['a module that is a folder', ['run', fixture('.'), 'hi'], 'is a folder. Name a module that exports an agent.'],
    [
      'an option beside the options',
      ['run', fixture('crew.ts'), 'nasty', 'misspelt'],
      'its function gave an unknown optoins.',
    ],
    [
      'options beside an agent',
      ['run', fixture('beside.ts'), 'hi'],
      'exports them beside an agent, where nobody reads them. Export default an agent, or a function',
    ],
    ['an unknown option', ['run', fixture('lookout.ts'), '--colour'], "unknown option '--colour'"],
    ['an unknown command', ['sail'], "unknown command 'sail'"],
    ['no file', ['run'], "missing required argument 'file'"],
  ] as const)('%s ends with 2, and one line says so', async ([, args, text]) => {
    const { code, out, err } = await cox(args);
    expect(err).toContain(text);
    expect(lines(err).length).toBe(1);
    expect(out).toBe('');
    expect(code).toBe(2);
  });

  test('an error in the module is told without its stack, and with it where COX_DEBUG is set', async () => {
    const { code, err } = await cox(['run', fixture('broken.ts')]);
    expect(err).toBe('the harbour is closed\nCOX_DEBUG=1 shows where.\n');
    expect(code).toBe(1);
    expect((await cox(['run', fixture('broken.ts')], { env: { COX_DEBUG: '1' } })).err).toContain('broken.ts:1');
  });

  test('--version is that of the package, --help has an example', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(await cox(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
    const { code, out } = await cox(['--help']);
    expect(out).toContain('cox run team.ts');
    expect(code).toBe(0);
  });
});

describe('--json', () => {
  test('gives one event a line, and last the result', async () => {
    const { code, out } = await cox(['run', fixture('crew.ts'), 'nasty', '--json']);
    const all = lines(out).map((line) => JSON.parse(line));
    expect(all.at(0)).toMatchObject({ type: 'run.start', seq: 1 });
    expect(all.at(-2)).toMatchObject({ type: 'run.end', status: 'completed' });
    expect(all.at(-1)).toMatchObject({ type: 'result', status: 'completed', toolCalls: 2 });
    expect(all.slice(0, -1).map(({ seq }) => seq)).toEqual(all.slice(0, -1).map((_, at) => at + 1));
    expect(all.at(-1).text).toBe('Land \u001b[2J\u0007\u202e wiped \u009b31m');
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
    expect(code).toBe(0);
  });

  test('keeps the exit code of the status', async () => {
    const { code, out } = await cox(['run', fixture('crew.ts'), 'steps', '--json']);
    expect(JSON.parse(lines(out).at(-1) ?? '')).toMatchObject({ type: 'result', status: 'step_limit' });
    expect(code).toBe(4);
  });
});

describe('the step log', () => {
  test('holds the whole run in .runs, for its owner only, and stderr says where', async () => {
    const cwd = emptyFolder();
    const { err } = await cox(['run', fixture('lookout.ts'), 'a question'], { cwd });
    const [name = ''] = readdirSync(join(cwd, '.runs'));
    expect(err).toContain(`log: .runs/${name}`);
    const log = readFileSync(join(cwd, '.runs', name), 'utf8');
    expect(lines(log).map((line) => JSON.parse(line).event)).toEqual(['start', 'end']);
    expect(log).toContain('a question');
    expect(statSync(join(cwd, '.runs', name)).mode & 0o077).toBe(0);
  });

  test('goes where --log says, and nowhere with --no-log', async () => {
    const cwd = emptyFolder();
    await cox(['run', fixture('lookout.ts'), 'hi', '--log', 'own.jsonl'], { cwd });
    expect(lines(readFileSync(join(cwd, 'own.jsonl'), 'utf8')).length).toBe(2);
    await cox(['run', fixture('lookout.ts'), 'hi', '--no-log'], { cwd });
    expect(existsSync(join(cwd, '.runs'))).toBe(false);
  });

  test.runIf(existsSync('/dev/full'))('that was asked for and is lost ends with 1, after the result', async () => {
    const { code, out, err } = await cox(['run', fixture('lookout.ts'), 'hi', '--log', '/dev/full']);
    expect(out).toBe('You asked: hi\n');
    expect(err).toContain('/dev/full: the step log could not be written: ENOSPC');
    expect(code).toBe(1);
  });

  test('that nobody asked for and cannot be made is told of, no more', async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, '.runs'), 'a file in its place');
    const { code, out, err } = await cox(['run', fixture('lookout.ts'), 'hi'], { cwd });
    expect(out).toBe('You asked: hi\n');
    expect(err).toContain('there is no step log');
    expect(code).toBe(0);
  });
});

describe('Ctrl-C', () => {
  test('cancels the run, says so, prints what was done and ends with 130', async () => {
    const { child, says, ended } = startCox(['run', fixture('crew.ts'), 'watch']);
    await says('calls watch');
    child.kill('SIGINT');
    const { code, err } = await ended;
    expect(err).toContain('interrupted: the run is being stopped');
    expect(err).toMatch(/^cancelled: 1 step, 1 tool call/m);
    expect(err).toContain('log: .runs/');
    expect(code).toBe(130);
  });

  test('a second one ends at once what does not stop', async () => {
    const { child, says, ended } = startCox(['run', fixture('crew.ts'), 'sleep']);
    await says('calls sleep');
    child.kill('SIGINT');
    await says('Ctrl-C again');
    child.kill('SIGINT');
    const { code, err } = await ended;
    expect(err).not.toContain('cancelled:');
    expect(code).toBe(130);
  });
});

describe('a collector', () => {
  test('gets the spans of the run before the process ends', async () => {
    let spans = '';
    const server = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => {
        spans += chunk.toString('latin1');
      });
      request.on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_SERVICE_NAME: 'harbour' };
    const { code } = await cox(['run', fixture('crew.ts'), 'nasty'], { env });
    expect(code).toBe(0);
    expect(spans).toContain('invoke_workflow captain');
    expect(spans).toContain('harbour');
    expect(spans).not.toContain('wiped');
  });

  test('that is no URL costs a line, not the result', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' };
    const { code, out, err } = await cox(['run', fixture('lookout.ts'), 'hi'], { env });
    expect(out).toBe('You asked: hi\n');
    expect(err).toContain('OTEL_EXPORTER_OTLP_ENDPOINT: it is no URL');
    expect(code).toBe(0);
  });

  test('that takes nothing costs a line, not the result', async () => {
    const server = createServer((_, response) => response.writeHead(400).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
    const { code, out, err } = await cox(['run', fixture('lookout.ts'), 'hi'], { env });
    expect(out).toBe('You asked: hi\n');
    expect(err).toContain('the last spans could not be sent');
    expect(code).toBe(0);
  });
});

describe('stdout', () => {
  test('whose reader went away stops the run', async () => {
    const { child, ended } = startCox(['run', fixture('crew.ts'), 'watch', '--json']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, err } = await ended;
    expect(err).toContain('stdout was closed');
    expect(code).toBe(1);
  });

  test.runIf(existsSync('/dev/full'))('that takes nothing is told of, and is a failure', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const { code, err } = await startCox(['run', fixture('lookout.ts'), 'hi'], { stdout: full }).ended;
    expect(err).toContain('stdout: the result could not be written: ENOSPC');
    expect(code).toBe(1);
  });
});

test('a folder is no module', async () => {
  const cwd = emptyFolder();
  mkdirSync(join(cwd, 'team.ts'));
  expect((await cox(['run', 'team.ts', 'hi'], { cwd })).code).toBe(2);
});
