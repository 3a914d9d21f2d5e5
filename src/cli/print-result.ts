import type { Agent } from '../core/contract/agent.ts';
import type { RunResult, TreeNode } from '../core/contract/result.ts';
import { seconds, tokens } from './progress-lines.ts';
import { firstWords, visibleLines } from './visible.ts';

/**
 * What goes to stdout: the output as JSON where the agent has an `output` that gave no text, else the text, also what an agent
 * without `output` had when a limit ended it. On a terminal control characters are escaped; elsewhere the text is as it is.
 */
export function resultText(result: RunResult, agent: Agent, isTerminal: boolean): string {
  const text = plainText(result, agent);
  if (text === '') return '';
  return `${isTerminal ? visibleLines(text) : text}${text.endsWith('\n') ? '' : '\n'}`;
}

function plainText(result: RunResult, agent: Agent): string {
  if (agent.output === undefined) return result.text;
  if (result.status !== 'completed') return '';
  return typeof result.output === 'string' ? result.output : (JSON.stringify(result.output, null, 2) ?? '');
}

/** The last line of `--json`. */
export function resultLine(result: RunResult): string {
  return jsonLine({ type: 'result', ...result });
}

/** The last line of `--json` if the run's result rejected. */
export function failureLine(runId: string, message: string): string {
  return jsonLine({ type: 'result', runId, status: 'failed', error: { kind: 'failed', message, retryable: false } });
}

/** One line of JSON, with all invisible characters escaped. */
export function jsonLine(value: object): string {
  return `${visibleJson(value)}\n`;
}

/** JSON in which nothing is invisible: what a terminal would obey or hide is escaped. */
export function visibleJson(value: object, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return text.replace(UNSEEN, (marks) =>
    Array.from({ length: marks.length }, (_, at) => marks.charCodeAt(at))
      .map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

// JSON allows these characters, but some readers end a line there, and terminals obey them. Line ends come from the indentation.
const UNSEEN = /[\u007f-\u009f\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** The end of a run, for stderr; if it did not complete, also the state of each invocation. */
export function summary(result: RunResult, durationMs: number): string {
  const { status, steps, toolCalls, usage, runId } = result;
  const counts = `${count(steps, 'step')}, ${count(toolCalls, 'tool call')}, ${tokens(usage)}${seconds(durationMs)}`;
  const lines = [`${status}: ${counts} (run ${runId})`];
  if (status !== 'completed' && status !== 'suspended') {
    lines.push(`  ${result.error.kind}: ${firstWords(result.error.message, 400)}`);
    if (result.tree.children.length > 0) lines.push(...treeLines(result.tree));
  }
  return `${lines.join('\n')}\n`;
}

function treeLines(node: TreeNode): string[] {
  const facts = `${node.status}, ${count(node.step, 'step')}, ${tokens(node.usage)}`.replace(/, $/, '');
  return [`  ${node.path}: ${facts}`, ...node.children.flatMap(treeLines)];
}

function count(value: number, noun: string): string {
  return `${value.toLocaleString('en')} ${noun}${value === 1 ? '' : 's'}`;
}
