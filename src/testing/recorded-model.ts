import { readFileSync } from 'node:fs';
import { ConfigurationError, ModelError } from '../core/values/errors.ts';
import { canonical, type Json } from '../core/values/json.ts';
import type { Message } from '../core/values/message.ts';
import type { Model, ModelRequest } from '../core/values/model.ts';
import type { ModelErrorKind } from '../core/values/model-error-kind.ts';
import { isRecording, type Recorded, readRecording } from './read-recording.ts';

export interface RecordedModelOptions {
  /** True: a request that was not recorded just so is an error. Default false: then the agent's next turn is taken. */
  readonly strict?: boolean | undefined;
}

/**
 * A model that replays a recording: a step log (`jsonlLog(file, { content: 'full' })`) or a file of `recordModel`. A request receives the turn that was recorded
 * for the same messages of the same agent, each once; without such a turn the next one of that agent, unless `strict`. A failed call
 * fails again, unless a retry was answered; a request after the end of the recording is an error.
 *
 * @throws ConfigurationError if the file cannot be read or has no turns
 * @example await runAgent(agent, question, { model: recordedModel('run.jsonl') });
 */
export function recordedModel(log: string, options: RecordedModelOptions = {}): Model {
  const recorded = withoutRetries(recordingOf(log));
  const { provider, id } = nameOf(recorded);
  return Object.freeze({
    provider,
    id,
    retry: { retries: 0 },
    async generate(request, { agent, signal, onDelta }) {
      signal.throwIfAborted();
      const own = recorded.filter((one) => one.agent === undefined || agent === undefined || one.agent === agent);
      const same = own.find((one) => isSame(one, request));
      const next = same ?? (options.strict ? undefined : own[0]);
      if (next === undefined) throw nothingRecorded(agent, own, request);
      recorded.splice(recorded.indexOf(next), 1);
      if (next.turn === undefined) throw errorOf(next);
      for (const part of next.turn.content) if (part.type === 'text') onDelta?.({ type: 'text', text: part.text });
      return next.turn;
    },
  } satisfies Model);
}

function recordingOf(log: string): readonly Recorded[] {
  let text: string;
  try {
    text = readFileSync(log, 'utf8');
  } catch {
    throw new ConfigurationError('log', `${log} cannot be read`, 'Record it first: recordModel(model, file).');
  }
  const recorded = readRecording(text);
  if (recorded.length > 0) return recorded;
  const why = isRecording(text) ? 'holds no turns' : 'is no recording';
  const mend = "Write it with jsonlLog(file, { content: 'full' }) or recordModel(model, file).";
  throw new ConfigurationError('log', `${log} ${why}`, mend);
}

/** What failed at first and was answered then is played as answered. */
function withoutRetries(recorded: readonly Recorded[]): Recorded[] {
  return recorded.filter(
    (one, index) =>
      one.turn !== undefined ||
      !recorded.some(
        (later, at) => at > index && later.turn !== undefined && later.agent === one.agent && isSame(later, one),
      ),
  );
}

/** The recorded model's name, so that its own turns are sent back in their native form. */
function nameOf(recorded: readonly Recorded[]): { provider: string; id: string } {
  const name = recorded.find(({ model }) => model !== undefined)?.model ?? 'recorded/recorded';
  const slash = name.indexOf('/');
  return { provider: name.slice(0, slash), id: name.slice(slash + 1) };
}

function isSame({ messages }: Recorded, request: Pick<Recorded, 'messages'>): boolean {
  return (
    messages !== undefined && request.messages !== undefined && contentOf(messages) === contentOf(request.messages)
  );
}

/** The content of messages, without labels and native forms. */
function contentOf(messages: readonly Message[]): string {
  return canonical(messages.map(({ role, content }) => ({ role, content })) as unknown as Json);
}

function nothingRecorded(agent: string | undefined, own: readonly Recorded[], request: ModelRequest): ModelError {
  const name = agent === undefined ? 'an unnamed agent' : `agent "${agent}"`;
  const count = request.messages.length;
  return new ModelError(
    'unknown',
    own.length === 0
      ? `recordedModel: the recording is over for ${name}`
      : `recordedModel: no turn was recorded for this request of ${name} with ${count} messages; record it anew`,
  );
}

function errorOf({ error }: Recorded): ModelError {
  const { kind = 'unknown', message = 'recorded without a turn', retryable = false } = error ?? {};
  return new ModelError(kind as ModelErrorKind, message, { retryable });
}
