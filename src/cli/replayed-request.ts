import type { Agent } from '../core/contract/agent.ts';
import type { ModelIn, ToolIn } from '../core/contract/boundary.ts';
import type { RunRecord } from '../core/contract/record.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import type { RecordStore } from '../journal/record-store.ts';
import { replayRun } from '../orchestration/entry/replay-run.ts';
import { readRun } from '../orchestration/entry/resume-run.ts';
import { stepLines } from '../telemetry/log/step-lines.ts';

/** What was sent to a model, or given to a tool. */
export type ReplayedRequest = { readonly [part: string]: unknown };

/**
 * The request of a model or tool call, rebuilt by playing the run again up to it; undefined where no such call has an outcome.
 * Throws a DivergenceError where the agent's code is not that of the run.
 */
export async function replayedRequest(
  agent: Agent,
  journal: RecordStore,
  runId: string,
  key: string,
): Promise<ReplayedRequest | undefined> {
  const { rows } = await readRun(journal, runId);
  if (!rows.some((row) => row.key === key)) return undefined;
  let found: ReplayedRequest | undefined;
  const look = (record: RunRecord) => {
    if (record.key !== key || record.event !== 'started') return;
    if (record.kind === 'model') found ??= modelRequest(record.request);
    if (record.kind === 'tool') found ??= toolRequest(record.request);
  };
  await replayRun(agent as Agent<unknown>, { journal, runId }, { until: { key }, views: [look] }).result;
  return found;
}

function modelRequest({
  model,
  instructions,
  messages,
  tools,
  toolChoice,
  output,
  settings,
}: ModelIn): ReplayedRequest {
  return {
    ...{ model, instructions, messages: messages.map(asSent), tools },
    ...(toolChoice !== undefined && { toolChoice }),
    ...(output !== undefined && { output }),
    settings,
  };
}

function toolRequest({ name, args }: ToolIn): ReplayedRequest {
  return { tool: name, args };
}

/** Labels are never sent, nor whether a message is pinned. */
export function asSent(message: object): object {
  return { ...message, label: undefined, pinned: undefined };
}

const PARTS = ['model', 'instructions', 'tools', 'toolChoice', 'output', 'settings'] as const;

/**
 * The request of a model call from a step log with `content: 'full'` (secrets of known forms are redacted there); undefined if the
 * log has no such call.
 */
export async function loggedRequest(file: string, runId: string, key: string): Promise<ReplayedRequest | undefined> {
  let request: { [part: string]: unknown } = {};
  let messages: readonly object[] = [];
  for await (const line of stepLines(file)) {
    const { modelIn, path } = line;
    if (line.runId !== runId || modelIn === undefined || !key.startsWith(`${path}/`)) continue;
    if (key.slice(path.length + 1).split('/').length !== 2) continue;
    if (modelIn.from === 0) request = {};
    for (const part of PARTS) if (modelIn[part] !== undefined) request[part] = modelIn[part];
    if (typeof request.instructions !== 'string')
      throw new ConfigurationError(
        '--log',
        `${file} holds no content`,
        "Only a log with content: 'full' has requests.",
      );
    messages = [...messages.slice(0, modelIn.from), ...(modelIn.new as readonly object[])];
    if (`${path}/${line.step}/${line.call ?? 'model'}` !== key) continue;
    const present = Object.entries(request).filter(([, value]) => value !== null);
    return { ...Object.fromEntries(present), messages: messages.map(asSent) };
  }
  return undefined;
}
