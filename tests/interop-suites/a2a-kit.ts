import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SOURCE = 'https://github.com/a2aproject/a2a-tck';
const BRANCH = '1.0-dev';

/** The kit's folder with its own Python, or why it cannot be had. */
export async function a2aKit(): Promise<
  { readonly folder: string; readonly python: string } | { readonly lack: string }
> {
  const cached = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'a2a-tck');
  const beside = resolve(import.meta.dirname, '../../../shared/a2a-tck');
  const folder = [process.env.A2A_TCK, beside, cached].find(
    (one) => one !== undefined && existsSync(join(one, 'run_tck.py')),
  );
  try {
    return { folder: folder ?? (await cloned(cached)), python: await pythonOf(folder ?? cached) };
  } catch (thrown) {
    const why = thrown instanceof Error ? (thrown.message.trim().split('\n').at(-1) ?? '') : String(thrown);
    return { lack: `${why}; get it with: git clone --depth 1 -b ${BRANCH} ${SOURCE} ${cached}` };
  }
}

async function cloned(into: string): Promise<string> {
  await mkdir(dirname(into), { recursive: true });
  await run('git', ['clone', '--quiet', '--depth', '1', '-b', BRANCH, SOURCE, into], {
    timeout: 60_000,
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
  });
  return into;
}

/** What the kit's own pyproject.toml lists. */
const PACKAGES = [
  ...['pytest>=8.0', 'pytest-asyncio>=0.23', 'httpx>=0.27', 'grpcio>=1.60', 'protobuf>=4.25', 'jsonschema>=4.21'],
  ...['googleapis-common-protos>=1.62', 'pytest-html>=4.1', 'gherkin-official>=29.0', 'Jinja2>=3.1'],
];

async function pythonOf(folder: string): Promise<string> {
  const python = join(folder, '.venv/bin/python');
  if (!existsSync(python)) {
    await run('python3', ['-m', 'venv', join(folder, '.venv')], { timeout: 60_000 });
    await run(python, ['-m', 'pip', 'install', '-q', ...PACKAGES], { timeout: 300_000 });
  }
  return python;
}
