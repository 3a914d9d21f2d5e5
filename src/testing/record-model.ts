import { appendFileSync, writeFileSync } from 'node:fs';
import { modelFailure } from '../core/values/check-turn.ts';
import type { ErrorRecord } from '../core/values/errors.ts';
import type { Model, ModelRequest, ModelTurn } from '../core/values/model.ts';
import { fallback } from '../models/fallback.ts';

/** One exchange of a recording, as a line of JSON. */
export interface RecordedExchange {
  /** Its number in the order in which they were asked; the file is in the order in which they were answered. */
  readonly asked: number;
  readonly agent?: string;
  readonly request: Pick<ModelRequest, 'instructions' | 'messages' | 'toolChoice'>;
  readonly turn?: ModelTurn;
  readonly error?: ErrorRecord;
}

/**
 * The same model, whose exchanges are written to a file that {@link recordedModel} plays back. The file is overwritten at the first call and readable by its owner only; it contains
 * prompts and answers unchanged, and no keys, which are not part of a request.
 *
 * @example await runAgent(agent, question, { model: recordModel(openai('gpt-5.4-mini'), 'tests/answer.jsonl') });
 */
export function recordModel(model: Model, file: string): Model {
  let begun = false;
  let asked = 0;
  const write = (exchange: RecordedExchange) => {
    const line = `${JSON.stringify(exchange)}\n`;
    if (begun) appendFileSync(file, line);
    else writeFileSync(file, line, { mode: 0o600 });
    begun = true;
  };
  return recording(model, write, () => ++asked);
}

/** Of a fallback, each model is recorded: the run goes through them itself. */
function recording(model: Model, write: (exchange: RecordedExchange) => void, nextNumber: () => number): Model {
  if (model.candidates !== undefined) return fallback(model.candidates.map((one) => recording(one, write, nextNumber)));
  const { provider, id, limits, retry, timeoutMs, needsMaxOutputTokens, price, server } = model;
  return Object.freeze({
    provider,
    id,
    ...(limits === undefined ? {} : { limits }),
    ...(retry === undefined ? {} : { retry }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(needsMaxOutputTokens === undefined ? {} : { needsMaxOutputTokens }),
    ...(price === undefined ? {} : { price }),
    ...(server === undefined ? {} : { server }),
    async generate(request, context) {
      const { instructions, messages, toolChoice } = request;
      const question = {
        asked: nextNumber(),
        ...(context.agent === undefined ? {} : { agent: context.agent }),
        request: { instructions, messages, ...(toolChoice === undefined ? {} : { toolChoice }) },
      };
      try {
        const turn = await model.generate(request, context);
        write({ ...question, turn });
        return turn;
      } catch (thrown) {
        if (!context.signal.aborted) write({ ...question, error: modelFailure(thrown) });
        throw thrown;
      }
    },
  } satisfies Model);
}
