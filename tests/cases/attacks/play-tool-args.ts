import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, defineAgent, defineTool, type JsonSchema, type ModelTurn } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import type { Stage } from './set-up.ts';
import { type Shown, showRun } from './shown.ts';

/** tool-args: one call of a stub tool with the case's schema. */
export async function playToolArgs({ case: { input, expect }, folder }: Stage): Promise<Shown> {
  // Writing a log of megabytes is not what the time of a case is about.
  const isLogged = expect.checks?.some(({ check }) => check.startsWith('log-')) === true;
  const handled: { tool: string; args: unknown }[] = [];
  const turn: ModelTurn = {
    content: [{ type: 'tool_call', id: 'c1', name: 'stub', arguments: String(input.rawJson) }],
    stop: 'tool_calls',
  };
  try {
    const stub = defineTool({
      name: 'stub',
      description: 'A tool of another server',
      access: 'write',
      input: input.schema as JsonSchema,
      execute(args) {
        handled.push({ tool: 'stub', args });
        return 'ran';
      },
    });
    const file = join(folder, 'log.jsonl');
    const shown = await showRun(defineAgent({ name: 'caller', instructions: 'Call.', tools: [stub] }), 'go', {
      model: scriptedModel([turn, 'done']),
      permissions: { mode: 'acceptAll' },
      views: isLogged ? [jsonlLog(file, { content: 'redacted' })] : [],
    });
    return { ...shown, handled, ...(isLogged && { log: readFileSync(file, 'utf8') }) };
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return {
      outcome: 'error',
      refusal: { kind: 'configuration', code: thrown.code, message: thrown.message },
      handled,
    };
  }
}
