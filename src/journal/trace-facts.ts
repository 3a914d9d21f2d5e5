import type { Json } from '../core/json.ts';
import type { Draft } from '../core/record.ts';
import { asJson } from './row.ts';

/**
 * What a trace says of a start beside what its row keeps, so that an export from the records gives the very spans that were
 * sent live. Facts that are the same for many calls (a tool's description, a model's settings) stand in the first row of an
 * epoch that has them, under a number; later rows have the number alone.
 */
export class TraceFacts {
  readonly #known = new Map<string, number>();

  /** The row's part `trace`: `{ of: number, facts?, … }`. */
  of(draft: Draft): Json | undefined {
    const own = ownFacts(draft);
    const same = sameFacts(draft);
    if (same === undefined) return own && asJson(own);
    const text = JSON.stringify(same);
    const known = this.#known.get(text);
    if (known !== undefined) return own === undefined ? { of: known } : asJson({ of: known, ...own });
    this.#known.set(text, this.#known.size);
    return asJson({ of: this.#known.size - 1, facts: same, ...own });
  }
}

function sameFacts(draft: Draft): object | undefined {
  if (draft.event !== 'started') return undefined;
  switch (draft.kind) {
    case 'agent':
      return { description: draft.request.description };
    case 'model': {
      const { provider, modelId, server, settings, stream, output } = draft.request;
      return { provider, modelId, server, settings, stream, output: output === undefined ? undefined : output.name };
    }
    case 'tool':
      return { description: draft.request.description, delegate: draft.request.delegate };
    default:
      return undefined;
  }
}

function ownFacts(draft: Draft): object | undefined {
  if (draft.kind === 'agent' && draft.event === 'done') {
    const { ownUsage, usage } = draft.value;
    // Without workers it is all of it.
    return ownUsage.modelCalls === usage.modelCalls ? undefined : { ownUsage };
  }
  if (draft.event !== 'started') return undefined;
  const { waitedMs } = draft;
  switch (draft.kind) {
    case 'run': {
      const caller = draft.span.handle?.caller;
      return caller && { caller };
    }
    case 'agent':
      return { waitedMs, parentStep: draft.place.parentStep };
    case 'memory':
    case 'embedding':
      return { ...draft.request, waitedMs };
    case 'model':
    case 'tool':
      return waitedMs === undefined ? undefined : { waitedMs };
    default:
      return undefined;
  }
}
