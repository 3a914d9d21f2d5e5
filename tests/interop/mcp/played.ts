import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineAgent, type Json, type RunOptions, runAgent, type ToolMessage } from 'coxswain';
import { type McpToolSettings, mcpTools } from 'coxswain/mcp';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { compiled } from '../../support/compiled.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}-server.ts`, import.meta.url));

/** A file for what a server logs. */
export function logFile(): { readonly path: string; lines(): string[] } {
  const path = join(mkdtempSync(join(tmpdir(), 'mcp-')), 'log');
  return { path, lines: () => readFileSync(path, 'utf8').trim().split('\n') };
}

export function notes(settings: McpToolSettings = {}, args: readonly string[] = []) {
  return mcpTools({
    name: 'notes',
    command: process.execPath,
    args: [fixture('notes'), ...args],
    env: compiled,
    ...settings,
  });
}

export function hostile(how: string, settings: McpToolSettings = {}) {
  return mcpTools({
    name: 'h',
    command: process.execPath,
    args: [fixture('hostile'), how],
    env: compiled,
    ...settings,
  });
}

/** Runs an agent whose model makes these calls one after the other, and gives what it was told of each. */
export async function callsOf(
  tools: readonly ReturnType<typeof notes>[],
  calls: readonly (readonly [name: string, args: Json])[],
  options: RunOptions = {},
) {
  const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools });
  const turns = [...calls.map(([name, args]) => callTools(toolCall(name, args))), 'done'];
  const result = await runAgent(agent, 'go', {
    model: scriptedModel(turns),
    permissions: { mode: 'acceptAll' },
    // What a stranger's answer led to is asked for, in every mode.
    approve: () => ({ decision: 'allow' }),
    ...options,
  });
  const told = result.messages.filter((message): message is ToolMessage => message.role === 'tool');
  return { result, told };
}
