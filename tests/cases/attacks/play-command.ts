import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, defineAgent, type Json, type RunRecord } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { type CommandParameter, type CommandPreset, commandTool } from 'coxswain/tools';
import type { Stage } from './set-up.ts';
import { type Shown, showRun } from './shown.ts';

interface PresetWords {
  readonly file: string;
  readonly args?: readonly string[];
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
}

/** command: the commands tool with the case's presets, one call, allowed by the permissions. */
export async function playCommand(stage: Stage): Promise<Shown> {
  const { presets, call } = stage.case.input as { presets: { [name: string]: PresetWords }; call: Json };
  const root = join(stage.folder, stage.root ?? 'ws');
  mkdirSync(root, { recursive: true });
  try {
    const tool = commandTool({
      root,
      presets: Object.fromEntries(Object.entries(presets).map(([name, preset]) => [name, presetOf(preset)])),
    });
    const agent = defineAgent({ name: 'runner', instructions: 'Call.', tools: [tool] });
    const model = scriptedModel([callTools(toolCall('run_command', call)), 'done']);
    const records: RunRecord[] = [];
    const views = [(record: RunRecord) => records.push(record)];
    const shown = await showRun(agent, 'go', { model, views, permissions: { mode: 'acceptAll' } });
    const [result = '{}'] = shown.results ?? [];
    const stdout =
      shown.outcome === 'allowed' && result.startsWith('{') ? String(JSON.parse(result).stdout) : undefined;
    return stdout === undefined ? shown : { ...shown, stdout };
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return { outcome: 'error', refusal: { kind: 'configuration', code: thrown.code, message: thrown.message } };
  }
}

function presetOf({ file, args = [], timeoutMs, maxOutputBytes }: PresetWords): CommandPreset {
  // A limit of bytes as one of characters that is never looser: a character has at most four.
  const maxOutputChars = maxOutputBytes === undefined ? undefined : Math.max(1, Math.floor(maxOutputBytes / 4));
  return { file, args: args.map((arg, index) => parameterOf(arg, args[index - 1])), timeoutMs, maxOutputChars };
}

function parameterOf(arg: string, before: string | undefined): string | CommandParameter {
  const [, param, type, low, high] = /^\{(\w+):(text|int|workspace-path)(?::(-?\d+)\.\.(-?\d+))?\}$/.exec(arg) ?? [];
  if (param === undefined) return arg;
  switch (type) {
    case 'int':
      return { param, type, min: Number(low), max: Number(high) };
    case 'workspace-path':
      return { param, type: 'path' };
    default:
      // `-e` says that what follows is its value.
      return { param, type: 'text', dash: before === '-e' };
  }
}
