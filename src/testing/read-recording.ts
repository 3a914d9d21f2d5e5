import type { ErrorRecord } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import type { Message } from '../core/values/message.ts';
import type { ModelTurn } from '../core/values/model.ts';

/** One model call of a recording. */
export interface Recorded {
  /** Its number in the order of asking: equal requests are answered in that order. */
  readonly asked: number;
  readonly agent: string | undefined;
  /** `provider/id`, if the recording has it. */
  readonly model: string | undefined;
  /** As they were sent. */
  readonly messages: readonly Message[] | undefined;
  readonly turn: ModelTurn | undefined;
  readonly error: ErrorRecord | undefined;
}

type Line = Record<string, unknown>;

/** The model calls of a step log with full content, or of a file of `recordModel`, in the order in which they were asked. */
export function readRecording(text: string): Recorded[] {
  const recorded: Recorded[] = [];
  const steps = new StepLog();
  for (const [index, line] of linesOf(text).entries()) {
    const one = 'request' in line ? exchangeOf(line, index) : steps.take(line, index);
    if (one !== undefined && (one.turn !== undefined || one.error !== undefined)) recorded.push(one);
  }
  return recorded.sort((a, b) => a.asked - b.asked);
}

/** Whether it looks like a recording at all, also like one without content. */
export function isRecording(text: string): boolean {
  return linesOf(text).some((line) => 'request' in line || 'event' in line);
}

function linesOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return isPlainObject(value) ? [value] : [];
    } catch {
      // The last line of a process that was killed.
      return [];
    }
  });
}

/** Checks only the shape: the run validates the turn, as it did when it was recorded. */
function playable(turn: unknown): ModelTurn | undefined {
  const isTurn = isPlainObject(turn) && Array.isArray(turn.content) && typeof turn.stop === 'string';
  return isTurn ? (turn as unknown as ModelTurn) : undefined;
}

function exchangeOf({ agent, request, turn, error, asked }: Line, index: number): Recorded {
  return {
    asked: typeof asked === 'number' ? asked : index,
    agent: typeof agent === 'string' ? agent : undefined,
    model: undefined,
    messages: isPlainObject(request) && Array.isArray(request.messages) ? request.messages : undefined,
    turn: playable(turn),
    error: isPlainObject(error) ? (error as unknown as ErrorRecord) : undefined,
  };
}

/** A step log has only the new messages of each request: the rest comes from earlier lines. */
class StepLog {
  readonly #sent = new Map<string, readonly Message[]>();
  readonly #models = new Map<string, string>();
  readonly #open = new Map<string, { readonly asked: number; readonly messages: readonly Message[] | undefined }>();

  take(line: Line, index: number): Recorded | undefined {
    const path = `${line.runId} ${line.path}`;
    const call = `${path} ${line.step} ${line.call ?? ''}`;
    if (line.event === 'start') {
      this.#open.set(call, { asked: index, messages: this.#messages(path, line.modelIn) });
      return undefined;
    }
    const { modelOut, usage, costUsd } = line;
    const open = this.#open.get(call);
    if (open === undefined || !isPlainObject(modelOut)) return undefined;
    this.#open.delete(call);
    const counted = {
      ...(usage === undefined ? {} : { usage }),
      ...(costUsd === undefined ? {} : { costUsd }),
    };
    return {
      ...open,
      agent: typeof line.agent === 'string' ? line.agent : undefined,
      model: this.#models.get(path),
      turn: Array.isArray(modelOut.content) ? playable({ ...modelOut, ...counted }) : undefined,
      error: isPlainObject(modelOut.error) ? (modelOut.error as unknown as ErrorRecord) : undefined,
    };
  }

  #messages(path: string, modelIn: unknown): readonly Message[] | undefined {
    if (!isPlainObject(modelIn) || !Array.isArray(modelIn.new)) return undefined;
    if (typeof modelIn.model === 'string') this.#models.set(path, modelIn.model);
    const before = this.#sent.get(path) ?? [];
    const messages = [...before.slice(0, Number(modelIn.from)), ...(modelIn.new as Message[])];
    this.#sent.set(path, messages);
    return messages;
  }
}
