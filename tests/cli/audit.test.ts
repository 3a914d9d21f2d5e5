import { join } from 'node:path';
import { defineAgent, defineTool, resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { chainAudit } from '../../src/security/audit.ts';
import { cox, emptyFolder } from './cox.ts';

function clerk() {
  const effect = (name: string, access: 'read' | 'write' | 'spend') =>
    defineTool({ name, description: name, access, input: z.object({ to: z.string() }), execute: () => 'done' });
  return defineAgent({
    name: 'clerk',
    instructions: 'x',
    tools: [effect('look', 'read'), effect('save', 'write'), effect('pay', 'spend'), effect('burn', 'write')],
  });
}

test('cox audit lists each decision of a run, of all its processes, and chains them', async () => {
  const cwd = emptyFolder();
  const journal = sqlite(join(cwd, 'runs.db'));
  const calls = (['look', 'save', 'burn', 'pay'] as const).map((name) => callTools(toolCall(name, { to: 'a\u202e' })));
  const permissions = { rules: ['allow! save', 'deny burn'] };
  const model = scriptedModel([
    callTools(toolCall('save', { to: 'x' })),
    ...calls.slice(0, 1),
    callTools(toolCall('burn', { to: 'x' })),
    callTools(toolCall('pay', { to: 'x' })),
    'done',
  ]);
  await runAgent(clerk(), 'go', { model, journal, permissions, runId: 'r1' });
  const approve = () => ({ decision: 'deny', reason: 'too\u001b[2J much' }) as const;
  await resumeRun(clerk(), 'r1', { model: scriptedModel(['done']), journal, permissions, approve } as never).result;
  journal.close();
  const shown = await cox(['audit', 'r1', '--journal', 'runs.db'], { cwd });
  expect(shown.code).toBe(0);
  const lines = shown.out
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\S+ +/, '').replace(/ +/g, ' '));
  expect(lines).toEqual([
    "endorse rule clerk/1.0 save ('allow! save')",
    'allow access clerk/2.0 look',
    "deny rule clerk/3.0 burn ('deny burn', denied by the rule 'deny burn')",
    'ask policy clerk/4.0 pay (flow)',
    'deny person clerk/4.0 pay (too\\u001b[2J much)',
  ]);
  const chained = await cox(['audit', 'r1', '--journal', 'runs.db', '--chain', '--json'], { cwd });
  const entries = chained.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(entries).toHaveLength(5);
  const plain = entries.map(({ before: _, hash: __, ...entry }) => entry);
  expect(chainAudit(plain)).toEqual(entries);
  const keyed = await cox(['audit', 'r1', '--journal', 'runs.db', '--chain', '--json'], {
    cwd,
    env: { COX_AUDIT_KEY: 'k' },
  });
  expect(
    keyed.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(chainAudit(plain, 'k'));
  expect(chainAudit(plain.slice(1))[0]?.hash).not.toBe(entries[1].hash);
  expect((await cox(['audit', 'nobody', '--journal', 'runs.db'], { cwd })).code).toBe(2);
});
