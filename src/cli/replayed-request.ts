import type { Agent } from '../core/contract/agent.ts';
import type { ModelIn, ToolIn } from '../core/contract/boundary.ts';
import type { RunRecord } from '../core/contract/record.ts';
import type { RecordStore } from '../journal/record-store.ts';
import { replayRun } from '../orchestration/entry/replay-run.ts';
import { readRun } from '../orchestration/entry/resume-run.ts';

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
