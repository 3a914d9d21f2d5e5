import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, type Json } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { workspaceTools } from 'coxswain/tools';
import type { Words } from './attack-case.ts';
import { modelName, namedServers } from './mcp-server.ts';
import { modeOf, rulesOf } from './rules.ts';
import type { Stage } from './set-up.ts';
import { type Shown, showRun } from './shown.ts';
import { type Handled, stubTools } from './stub-tools.ts';

/** permission-rule: one call, one decision, nobody answers. */
export async function playPermissionRule({ case: { input }, folder }: Stage): Promise<Shown> {
  const {
    mode,
    rules: words = {},
    call,
  } = input as {
    mode?: string;
    rules?: Words;
    call: { tool: string; args: Json; agentTools?: readonly string[]; annotations?: object };
  };
  const root = join(folder, 'ws');
  mkdirSync(root, { recursive: true });
  const handled: Handled[] = [];
  const real = workspaceTools({ root }).filter(({ name }) => name === 'read_file' || name === 'write_file');
  const stubs = stubTools(handled, call.agentTools).filter(({ name }) => !real.some((tool) => tool.name === name));
  const tools = [...real, ...stubs].filter(({ name }) => call.agentTools?.includes(name) ?? true);
  const rules = rulesOf((words.owner as Words | undefined) ?? words);
  const project = join(folder, 'coxswain.json');
  if (words.project !== undefined) {
    const { mode: own, ...lines } = words.project as Words;
    writeFileSync(project, JSON.stringify({ rules: rulesOf(lines), ...(own !== undefined && { mode: modeOf(own) }) }));
  }
  const servers = namedServers(folder, JSON.stringify([words, call.tool]), call.annotations);
  const all = [...tools, ...servers.map((server) => server.source())];
  const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools: all });
  const model = scriptedModel([callTools(toolCall(modelName(call.tool), call.args)), 'done']);
  const shown = await showRun(agent, 'go', {
    model,
    permissions: { mode: modeOf(mode), rules, files: { project } },
    onStart() {
      if (words.mutateAfterStart === undefined) return;
      rules.splice(0, rules.length, ...rulesOf(words.mutateAfterStart as Words));
    },
  });
  // Whether the file is there is no answer of the decision's.
  const calls = [...handled, ...servers.flatMap((server) => server.called())];
  return { ...shown, handled: calls, ...(shown.refusal?.code === 'path_not_found' && { outcome: 'allowed' }) };
}
