/**
 * The failures of other frameworks as one table: `npm run bench:conformance` plays it with coxswain and with the frameworks whose packages
 * this project has for its integrations; `-- --peers` installs all of them at their newest versions into a temporary folder first (`-- --peers <folder>` keeps it).
 * Every cell is a separate process and prints what it saw, also if a peer passes.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contenderNamed } from './contenders/index.ts';
import { install, installPacked, PEERS, prepare } from './peers.ts';
import { ROWS } from './rows/index.ts';
import { weightOf, weightText } from './rows/weight.ts';
import type { Finding } from './team.ts';

interface Column {
  readonly name: string;
  readonly version: string;
  readonly cells: Map<string, Finding>;
  readonly weight: string;
}

const UNWEIGHED = 'with --peers';
const NOT_PLAYED = 'not played';
/** Of LangChain there is the core alone, which has no agents. */
const INSTALLED = ['AI SDK', 'OpenAI Agents'];
const peersIndex = process.argv.indexOf('--peers');
const peersFolder = process.argv[peersIndex + 1];
const folder = peersIndex < 0 ? undefined : (peersFolder ?? mkdtempSync(join(tmpdir(), 'peers-')));
const columns: Column[] = [];
try {
  const own = folder === undefined ? UNWEIGHED : ownWeight(join(folder, 'coxswain'));
  columns.push(await column('coxswain', import.meta.dirname, ['--conditions=@coxswain/source'], own));
  if (folder === undefined)
    for (const name of INSTALLED) columns.push(await column(name, import.meta.dirname, [], UNWEIGHED));
  else for (const peer of PEERS) await withPeer(peer, join(folder, peer.name.replaceAll(' ', '-')));
} finally {
  if (folder !== undefined && peersFolder === undefined) rmSync(folder, { recursive: true, force: true });
}
print(columns);
if ([...(columns[0]?.cells.values() ?? [])].some(({ ok }) => !ok)) process.exitCode = 1;

function ownWeight(at: string): string {
  const problem = installPacked(at);
  return problem ?? weightText(weightOf(at, 'coxswain'));
}

async function withPeer(peer: (typeof PEERS)[number], at: string): Promise<void> {
  const isThere = existsSync(join(at, 'conformance'));
  const problem = isThere ? undefined : install(peer, at);
  const weight = problem === undefined ? weightText(weightOf(at, peer.imports)) : '';
  const more = problem ?? prepare(peer, at);
  if (more === undefined)
    columns.push(await column(peer.name, join(at, 'conformance'), [], isThere ? `${weight} *` : weight));
  else console.error(`skipped ${peer.name}: ${more}`);
}

async function column(name: string, at: string, args: readonly string[], weight: string): Promise<Column> {
  const cells = new Map<string, Finding>();
  for (const { id, title } of ROWS) {
    const finding = played(play(name, id, at, args));
    cells.set(id, finding);
    console.error(`${mark(finding)} ${name}: ${title}: ${finding.saw}`);
  }
  const version = name === 'coxswain' ? (await contenderNamed(name)).version : versionIn(at, name);
  return { name, version, cells, weight };
}

/** Packages that single rows need beside a framework are installed only with --peers: without it these rows have no result. */
function played(finding: Finding): Finding {
  const missing = /Cannot find package '([^']+)'/.exec(finding.saw)?.[1];
  return missing === undefined ? finding : { ok: false, saw: `${NOT_PLAYED}: needs ${missing}, with --peers` };
}

function mark({ ok, saw }: Finding): string {
  if (saw.startsWith(NOT_PLAYED)) return '–';
  return ok ? '✓' : '✗';
}

function play(name: string, id: string, at: string, args: readonly string[]): Finding {
  const run = [...args, join(at, 'play-row.ts'), name, id];
  const { stdout, stderr, signal } = spawnSync(process.execPath, run, { encoding: 'utf8', timeout: 90_000 });
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Finding;
  } catch {
    const why =
      signal === null
        ? stderr
            .trim()
            .split('\n')
            .find((line) => /error/i.test(line))
        : 'no end in 90 s';
    return { ok: false, saw: (why ?? 'no answer').slice(0, 120) };
  }
}

/** A separate process loads it from there. */
function versionIn(at: string, name: string): string {
  const code = `const { contenderNamed } = await import(${JSON.stringify(join(at, 'contenders/index.ts'))}); console.log((await contenderNamed(${JSON.stringify(name)})).version); process.exit(0)`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  return stdout.trim().split('\n').at(-1) ?? '';
}

function print(all: readonly Column[]): void {
  console.log(`| what was tried | ${all.map(({ name, version }) => `${name} ${version}`).join(' | ')} |`);
  console.log(`| --- | ${all.map(() => '---').join(' | ')} |`);
  for (const { id, title } of ROWS) {
    const cells = all.map(({ cells }) => {
      const finding = cells.get(id) ?? { ok: false, saw: '' };
      return `${mark(finding)} ${finding.saw.replaceAll('|', '\\|')}`;
    });
    console.log(`| ${title} | ${cells.join(' | ')} |`);
  }
  console.log(`| packages / MB / cold import ms | ${all.map(({ weight }) => weight).join(' | ')} |`);
  const passed = all.map(({ cells }) => {
    const marks = [...cells.values()].map(mark);
    return `${marks.filter((one) => one === '✓').length} of ${marks.filter((one) => one !== '–').length}`;
  });
  console.log(`| passed | ${passed.join(' | ')} |`);
}
