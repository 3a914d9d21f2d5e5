import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CoxswainError, defineAgent, defineSupervisor, defineTool, replayRun, runAgent } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { folder } from '../support/journals.ts';
import { tries } from '../support/tries.ts';
import { text, turn } from '../support/turns.ts';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: z.object({ n: z.number() }),
  access: 'read',
  execute: ({ n }) => {
    if (n === 2) throw new Error('gone');
    return { seen: n };
  },
});
const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [look] });
const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker] });
const model = () =>
  scriptedModel({
    lead: [turn(['delegate_worker', { task: 'a' }], ['delegate_worker', { task: 'b' }]), text('end')],
    worker: [
      turn(['look', { n: 1 }], ['look', { n: 2 }]),
      turn(['look', { n: 3 }], ['look', { n: 4 }]),
      text('x'),
      text('y'),
    ],
  });

async function written(): Promise<{ file: string; lines: readonly string[] }> {
  const file = join(folder(), 'run.jsonl');
  await runAgent(lead, 'Go', { model: model(), views: [jsonlLog(file, { content: 'full' })] });
  return { file, lines: readFileSync(file, 'utf8').trimEnd().split('\n') };
}

type Path = readonly string[];

/** Every place in a line, the innermost too. */
function places(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [[...at, name], ...places(inner, [...at, name])]);
}

function put(line: unknown, [name = '', ...rest]: Path, value: unknown): void {
  const object = line as Record<string, unknown>;
  if (rest.length > 0) put(object[name], rest, value);
  else if (value === undefined) delete object[name];
  else object[name] = value;
}

describe('a step log that somebody changed', () => {
  test('ends in a result or in an error of ours, whatever stands where', { timeout: 60_000 }, async () => {
    const { file, lines } = await written();
    expect((await replayRun(lead, { log: file }).result).status).toBe('completed');
    const values = [undefined, null, -1, 1e308, '', 'x', '__proto__', true, [], [null], {}, { a: null }];
    const changes = fc.record({
      line: fc.nat(lines.length - 1),
      place: fc.nat(),
      value: fc.constantFrom(...values),
    });
    await fc.assert(
      fc.asyncProperty(changes, async ({ line, place, value }) => {
        const changed: unknown = JSON.parse(lines[line] ?? '');
        const all = places(changed);
        put(changed, all[place % all.length] ?? [], value);
        writeFileSync(file, lines.with(line, JSON.stringify(changed)).join('\n'));
        const fault = await replayed(file);
        expect(fault === undefined || fault instanceof CoxswainError, String((fault as Error)?.stack)).toBe(true);
      }),
      { numRuns: tries(2_000, 400) },
    );
  });

  test('names the line and the field', async () => {
    const { file, lines } = await written();
    const broken = { ...(JSON.parse(lines[3] ?? '') as object), time: 'yesterday' };
    writeFileSync(file, lines.with(3, JSON.stringify(broken)).join('\n'));
    expect(String(await replayed(file))).toMatch(/log: .*run\.jsonl, line 4: time is not as a step log has it/);
  });

  test('a line that a kill left half, or that was cut off, is none', async () => {
    const { file, lines } = await written();
    for (const half of ['{"runId":"', 'null', '{}', '']) {
      writeFileSync(file, [...lines, half].join('\n'));
      expect(await replayed(file), half).toBeUndefined();
    }
  });
});

async function replayed(log: string): Promise<unknown> {
  try {
    await replayRun(lead, { log }).result;
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}
