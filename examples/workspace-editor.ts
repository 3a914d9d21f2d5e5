// An agent that edits a folder and tests its change. Run it: node --conditions=@coxswain/source examples/workspace-editor.ts
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { commandTool, workspaceTools } from 'coxswain/tools';

const root = mkdtempSync(join(tmpdir(), 'harbour-'));
writeFileSync(join(root, 'tides.json'), '{ "high": "11:40", "low": "17:55", }\n');
const check = { file: process.execPath, args: ['-e', 'JSON.parse(fs.readFileSync("tides.json"))'] };

const editor = defineAgent({
  name: 'editor',
  instructions: 'Mend tides.json, run the check, say in a sentence what was wrong.',
  tools: [...workspaceTools({ root }), commandTool({ root, presets: { check } })],
});

// Without a key, a script stands in for the model. Its second call tries to leave the folder.
const script = scriptedModel([
  callTools(toolCall('read_file', { path: 'tides.json' })),
  callTools(toolCall('read_file', { path: '../../etc/passwd' })),
  callTools(toolCall('edit_file', { path: 'tides.json', find: ', }', replace: ' }' })),
  callTools(toolCall('run_command', { preset: 'check' })),
  'A comma stood after the last entry.',
]);

const result = await runAgent(editor, 'Mend tides.json.', {
  model: hasModelEnv() ? modelFromEnv() : script,
  permissions: { trust: ['read_file'], rules: ['allow edit_file:tides.json', 'allow run_command:check'] },
});
for (const message of result.messages)
  if (message.role === 'tool') console.log(`${message.name}: ${message.isError ? message.content : 'ok'}`);
console.log(`${readFileSync(join(root, 'tides.json'), 'utf8')}${result.text}`);
rmSync(root, { recursive: true });
