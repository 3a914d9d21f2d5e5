import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, type Json, runAgent, ToolError } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { workspaceTools } from 'coxswain/tools';
import { rulesOf } from './rules.ts';
import type { Stage } from './set-up.ts';
import { type Shown, showRun } from './shown.ts';

type RaceWords = {
  readonly tool: string;
  readonly args: { readonly [name: string]: Json };
  readonly tries?: number;
  readonly most?: number;
};

/** workspace-path: one call of the real tool, or many while a second process swaps names. */
export async function playWorkspace(stage: Stage): Promise<Shown> {
  const { tool, args, tries, most } = stage.case.input as RaceWords;
  const root = join(stage.folder, stage.root ?? String(stage.case.input.root ?? 'ws'));
  mkdirSync(root, { recursive: true });
  const tools = workspaceTools({ root });
  const permissions = { mode: 'acceptAll', rules: rulesOf(stage.rules) } as const;
  if (tries !== undefined) return race(stage, tools, tool, args, { tries, most: most ?? tries });
  const agent = defineAgent({ name: 'editor', instructions: 'Call.', tools });
  const model = scriptedModel([callTools(toolCall(tool, args)), 'done']);
  return showRun(agent, 'go', { model, permissions });
}

async function race(
  { folder }: Stage,
  tools: ReturnType<typeof workspaceTools>,
  name: string,
  args: { readonly [name: string]: Json },
  { tries, most }: { readonly tries: number; readonly most: number },
): Promise<Shown> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  const outside = join(folder, 'out');
  const before = fingerprint(outside);
  let escapes = 0;
  let successes = 0;
  const racer = defineAgent({
    name: 'racer',
    description: 'Calls while the folder is swapped',
    input: { type: 'object' },
    async run(_, flow) {
      for (let count = 0; count < tries || (successes < tries / 20 && count < most); count += 1) {
        // Another text each time: the same one would not be written again.
        const content = typeof args.content === 'string' ? { content: `${args.content} ${count}` } : {};
        try {
          const result = await flow.tool(tool, { ...args, ...content } as never);
          successes += 1;
          if (String(result).includes('OUTSIDE-SECRET')) escapes += 1;
        } catch (thrown) {
          if (!(thrown instanceof ToolError)) throw thrown;
          if (thrown.message.includes('OUTSIDE-SECRET')) escapes += 1;
        }
      }
      return null;
    },
  });
  await runAgent(racer, {}, { permissions: { mode: 'acceptAll', rules: ['allow! write_file'] } });
  if (fingerprint(outside) !== before) escapes += 1;
  return { outcome: 'allowed', escapes, successes };
}

/** Names, contents and times of change of all below a folder. */
function fingerprint(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return JSON.stringify(
    entries
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path, statSync(path).mtimeMs, entry.isFile() ? readFileSync(path, 'utf8') : ''];
      })
      .sort(),
  );
}
