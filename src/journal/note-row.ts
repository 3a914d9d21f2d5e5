import type { Draft } from '../core/contract/record.ts';
import { sha256 } from '../core/values/json.ts';

/** What is stored of a boundary: what a resume, a list of runs or a trace needs of it, never the history again. */
export function noteRow(draft: Draft): { readonly request: unknown; readonly value: unknown } {
  switch (draft.kind) {
    case 'run': {
      if (draft.event !== 'started') {
        const { label } = draft.value;
        return stored(undefined, { ...summaryOf(draft.value), label });
      }
      // The brief stands in what it begins with.
      const { input: _input, ...request } = draft.request;
      return stored(request, undefined);
    }
    case 'agent': {
      if (draft.event === 'done') return stored(undefined, summaryOf(draft.value));
      const { agent, type, depth, model, modelLimits, apart } = draft.request;
      return stored({ agent, type, depth, model, modelLimits, apart }, undefined);
    }
    case 'tool': {
      const name = draft.request?.name;
      if (draft.event === 'started') return stored({ tool: name, args: draft.request.args }, undefined);
      return draft.event === 'cancel'
        ? stored(undefined, draft.value)
        : stored({ tool: name }, toolEnd(draft.value, draft.ran));
    }
    case 'wait':
      return draft.event === 'started' ? stored(draft.request, undefined) : stored(undefined, draft.value);
    default:
      return stored(undefined, 'value' in draft ? draft.value : undefined);
  }
}

function stored(request: unknown, value: unknown) {
  return { request, value };
}

function summaryOf({
  status,
  steps,
  toolCalls,
  usage,
  costUsd,
  error,
}: {
  status: string;
  steps: number;
  toolCalls: number;
  usage: unknown;
  costUsd?: unknown;
  error?: unknown;
}) {
  return { status, steps, toolCalls, usage, costUsd, error };
}

/** `ran: false` is a refusal: an outcome by itself. */
function toolEnd(out: { isError: boolean; error?: unknown; content: unknown }, ran: boolean) {
  const { isError, error, content } = out;
  return { isError, error, content: sha256(JSON.stringify(content)), ran };
}
