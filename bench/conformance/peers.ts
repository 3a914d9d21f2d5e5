import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What each framework needs, at its newest versions. */
export interface Peer {
  readonly name: string;
  /** What a user of it installs, and imports. */
  readonly packages: readonly string[];
  readonly imports: string;
  /** What single rows need beside it: storage, tracing. */
  readonly more: readonly string[];
}

export const PEERS: readonly Peer[] = [
  { name: 'AI SDK', packages: ['ai', 'zod'], imports: 'ai', more: ['@ai-sdk/otel'] },
  { name: 'OpenAI Agents', packages: ['@openai/agents', 'zod'], imports: '@openai/agents', more: [] },
  {
    name: 'LangGraph',
    packages: ['deepagents', 'langchain', '@langchain/core', '@langchain/langgraph', 'zod'],
    imports: 'deepagents',
    more: [],
  },
  {
    name: 'Mastra',
    packages: ['@mastra/core', 'zod'],
    imports: '@mastra/core/agent',
    more: ['@mastra/libsql', '@mastra/observability', '@mastra/otel-bridge'],
  },
  { name: 'Strands', packages: ['@strands-agents/sdk', 'zod'], imports: '@strands-agents/sdk', more: [] },
];

const TRACING = ['@opentelemetry/api', '@opentelemetry/sdk-trace@3', '@opentelemetry/context-async-hooks@3'];

/** Installs into a separate folder outside of the project. Returns why that failed, if it did. */
export function install({ packages }: Peer, folder: string): string | undefined {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  return npm(folder, packages);
}

/** This project as it is published. Gives why it could not be installed. */
export function installPacked(folder: string): string | undefined {
  const root = join(import.meta.dirname, '../..');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const { status, stdout } = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
  });
  const file = stdout.trim().split('\n').at(-1) ?? '';
  return status === 0 ? npm(folder, [join(folder, file), 'zod']) : 'npm pack failed';
}

/** Beside it, after it was weighed; and the rows themselves, so that they find its packages as a program of its user does. */
export function prepare({ more }: Peer, folder: string): string | undefined {
  const copy = join(folder, 'conformance');
  rmSync(copy, { recursive: true, force: true });
  cpSync(import.meta.dirname, copy, { recursive: true });
  // Tracing has its own version line, which not every framework's peers allow.
  return npm(folder, [...more, ...TRACING]) && npm(folder, [...more, ...TRACING, '--force']);
}

/** By the Node that runs this: with another one npm takes older versions. */
function npm(cwd: string, args: readonly string[]): string | undefined {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr } = spawnSync('npm', ['install', ...quiet, ...args], {
    cwd,
    encoding: 'utf8',
    timeout: 600_000,
  });
  return status === 0 ? undefined : stderr.trim().split('\n').slice(0, 3).join(' ').slice(0, 200) || 'npm did not run';
}
