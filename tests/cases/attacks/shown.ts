import {
  type Agent,
  type ApprovalRequest,
  ConfigurationError,
  CoxswainError,
  type Label,
  type Run,
  type RunOptions,
  type RunRecord,
  type RunResult,
  startRun,
} from 'coxswain';
import type { Refusal } from './refusals.ts';

/** What a case showed: how it ended, and what its checks look at. */
export interface Shown {
  readonly outcome: 'allowed' | 'denied' | 'asked' | 'error';
  readonly refusal?: Refusal | undefined;
  /** All of them, where there is more than one. */
  readonly refusals?: readonly Refusal[];
  readonly records?: readonly RunRecord[];
  /** What a person was shown. */
  readonly display?: string;
  readonly result?: RunResult;
  /** Of an ask. */
  readonly reason?: string | undefined;
  /** What the model got back, errors too. */
  readonly results?: readonly string[];
  readonly isCut?: boolean;
  readonly label?: Label | undefined;
  readonly asked?: readonly ApprovalRequest[];
  /** Calls that entered the code of stub tools. */
  readonly handled?: readonly { readonly tool: string; readonly args: unknown }[];
  readonly log?: string;
  readonly stdout?: string;
  readonly escapes?: number;
  readonly successes?: number;
  /** Checks that only one kind has, by name: true where they hold. */
  readonly own?: {
    readonly [check: string]: (words: { readonly [word: string]: unknown }) => boolean | Promise<boolean>;
  };
}

/** Runs an agent and says how the last of its calls ended. */
export async function showRun(
  agent: Agent,
  input: Parameters<typeof startRun>[1],
  options: RunOptions & {
    readonly onStart?: (run: Run) => void;
    readonly start?: (agent: Agent, options: RunOptions) => Run;
  },
): Promise<Shown> {
  const records: RunRecord[] = [];
  const { onStart, start, ...rest } = options;
  try {
    const own = { ...rest, views: [...(rest.views ?? []), (record: RunRecord) => records.push(record)] };
    const run = start === undefined ? startRun(agent, input, own) : start(agent, own);
    onStart?.(run);
    return { ...ofRecords(records, await run.result), result: await run.result, records };
  } catch (thrown) {
    return { outcome: 'error', refusal: refusalOf(thrown), records };
  }
}

/** An error of ours as a refusal; any other is none. */
export function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof ConfigurationError)
    return { kind: 'configuration', code: thrown.code, message: thrown.message };
  if (thrown instanceof CoxswainError) return { kind: thrown.code, code: thrown.code, message: thrown.message };
  throw thrown;
}

function ofRecords(records: readonly RunRecord[], { messages }: RunResult): Shown {
  const asked = records.flatMap((record) =>
    record.kind === 'wait' && record.event === 'started' && record.request.reason !== 'wait' ? [record.request] : [],
  );
  const results = messages.filter((message) => message.role === 'tool');
  const texts = results.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)));
  const last = results.at(-1);
  const failures = records.flatMap((record) =>
    record.kind === 'tool' && record.event === 'failed' && record.value.error !== undefined ? [record.value.error] : [],
  );
  const failure = failures.at(-1);
  const facts = { results: texts, asked, label: last?.label, isCut: last?.ref !== undefined || texts.some(saysCut) };
  const refusals = failures.filter(isRefusal);
  const more = { ...facts, refusals };
  if (asked.length > 0) return { ...more, outcome: 'asked', reason: asked.at(-1)?.reason };
  if (last?.isError !== true || failure === undefined) return { ...more, outcome: 'allowed' };
  return { ...more, outcome: isRefusal(failure) ? 'denied' : 'allowed', refusal: failure };
}

/** Code that ran and failed was allowed; what was refused before, or by the tool itself, was not. */
function isRefusal({ kind, code }: Refusal): boolean {
  return kind !== 'threw' || code !== undefined;
}

function saysCut(text: string): boolean {
  return /left out|not shown/.test(text);
}
