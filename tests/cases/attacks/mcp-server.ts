import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolSource } from 'coxswain';
import { mcpTools } from 'coxswain/mcp';
import { compiled } from '../../support/compiled.ts';
import type { Handled } from './stub-tools.ts';

export interface ServerTool {
  readonly name: string;
  readonly description?: string;
  readonly annotations?: object | undefined;
}

/** A server of a case: its tools for an agent, and what it was called. */
export interface CaseServer {
  source(config?: { readonly command?: string; readonly args?: readonly string[] }): ToolSource;
  change(tools: readonly ServerTool[]): void;
  called(): Handled[];
}

export function caseServer(folder: string, name: string, tools: readonly ServerTool[]): CaseServer {
  const file = join(folder, `${name}.tools.json`);
  const change = (now: readonly ServerTool[]) =>
    writeFileSync(file, JSON.stringify(now.map((tool) => ({ inputSchema: { type: 'object' }, ...tool }))));
  change(tools);
  const program = join(import.meta.dirname, 'case-server.ts');
  return {
    // What a case starts is ours; the words of its own stand behind.
    source: ({ command, args = [] } = {}) =>
      mcpTools({
        name,
        command: process.execPath,
        env: compiled,
        args: [program, file, ...(command === undefined ? [] : [command, ...args])],
      }),
    change,
    called() {
      const log = `${file}.calls`;
      const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
      return lines.map((line) => {
        const { name: tool, arguments: given } = JSON.parse(line) as { name: string; arguments?: unknown };
        return { tool: `mcp/${name}/${tool}`, args: given ?? {} };
      });
    },
  };
}

const ADDRESS = /mcp\/([\w.-]+)\/([\w./-]+|\*)/g;

/** A server for each that a text names, with the tools that it names of it, or `read`. */
export function namedServers(folder: string, text: string, annotations?: object): readonly CaseServer[] {
  const servers = new Map<string, Set<string>>();
  for (const [, server = '', tool = ''] of text.matchAll(ADDRESS)) {
    const tools = servers.get(server) ?? new Set();
    servers.set(server, tool === '*' ? tools : tools.add(tool));
  }
  return [...servers].map(([server, tools]) => {
    const names = tools.size === 0 ? ['read'] : [...tools];
    return caseServer(
      folder,
      server,
      names.map((name) => ({ name, description: `Does ${name}`, annotations })),
    );
  });
}

/** What a model calls a tool that a case names: `mcp/files/read` is `files_read`. */
export function modelName(tool: string): string {
  const [, server, name] = /^mcp\/([\w.-]+)\/(.+)$/.exec(tool) ?? [];
  return server === undefined ? tool : `${server}_${name}`.replaceAll(/[^\w-]/g, '_');
}
