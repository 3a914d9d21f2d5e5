import { isPlainObject } from '../core/values/json.ts';
import type { CallUsage } from '../core/values/usage.ts';
import type { StepLine } from '../telemetry/log/log.ts';
import { callNames, seconds } from './progress-lines.ts';
import { firstWords, visible } from './visible.ts';

/** A line of the step log for a person: time, node, event. Texts of models and tools are shortened and escaped. */
export function logLine(line: StepLine): string {
  const what = line.event === 'start' ? startText(line) : endText(line);
  return `${line.time.slice(11, 23)} ${visible(line.path)}  ${stepName(line)} ${what}`;
}

function stepName({ step, call }: StepLine): string {
  const name = step === 0 ? 'code' : `step ${step}`;
  return call === undefined ? name : `${name} ${visible(call)}`;
}

function startText({ modelIn }: StepLine): string {
  if (modelIn === undefined) return 'starts';
  const { model, from, new: added } = modelIn;
  const whom = model === undefined ? '' : ` ${visible(model)}`;
  return `asks${whom} (${from + added.length} messages, ${added.length} new)`;
}

function endText(line: StepLine): string {
  const { status = 'open', durationMs = 0, usage, costUsd, toolCalls = [], toolResults = [], effects = [] } = line;
  const cost = costUsd === undefined ? '' : `, $${costUsd.toFixed(4)}`;
  const calls = toolCalls.map((call) => String(part(call, 'name')));
  const wrong = toolResults.filter((result) => part(result, 'isError') === true);
  const [waits, failed] = [wrong.filter(isParked), wrong.filter((result) => !isParked(result))];
  const parts = [
    `${status} (${seconds(durationMs)}${usage === undefined ? '' : `, ${tokens(usage)}`}${cost})`,
    answerText(line),
    calls.length === 0 ? '' : `→ ${callNames(calls)}`,
    failed.length === 0 ? '' : `failed: ${failed.map(failureText).join(', ')}`,
    waits.length === 0 ? '' : `waits: ${callNames(waits.map((result) => String(part(result, 'name'))))}`,
    effects.length === 0 ? '' : `also: ${callNames(effects.map(({ kind }) => kind))}`,
  ];
  return parts.filter(Boolean).join(' ');
}

function tokens({ inputTokens, outputTokens }: CallUsage): string {
  return `${(inputTokens + outputTokens).toLocaleString('en')} tokens`;
}

/** The model's text, if the log has content, or the error of its call. */
function answerText({ modelOut }: StepLine): string {
  const error = part(modelOut, 'error');
  if (error !== undefined)
    return firstWords(
      `${part(error, 'kind')}${part(error, 'message') === undefined ? '' : `: ${part(error, 'message')}`}`,
      200,
    );
  const content = part(modelOut, 'content');
  if (!Array.isArray(content)) return '';
  const text = content.map((item) => (part(item, 'type') === 'text' ? String(part(item, 'text')) : '')).join(' ');
  return text.trim() === '' ? '' : `“${firstWords(text, 60)}”`;
}

/** A parked call did not fail: a resume continues it. */
function isParked(result: unknown): boolean {
  return part(part(result, 'error'), 'kind') === 'suspended';
}

function failureText(result: unknown): string {
  return `${visible(String(part(result, 'name')))} (${visible(String(part(part(result, 'error'), 'kind') ?? 'failed'))})`;
}

function part(value: unknown, name: string): unknown {
  return isPlainObject(value) ? value[name] : undefined;
}
