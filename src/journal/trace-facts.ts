import type { ToolIn } from '../core/contract/boundary.ts';
import type { Draft, EffectStart } from '../core/contract/record.ts';

/**
 * What a trace says of a start beside what its row keeps, so that an export from the records gives the very spans that were
 * sent live. Facts that are the same for many calls (a tool's description, a model's settings) are in the first row of an
 * epoch that has them, under a number; later rows have the number alone: `{ of: number, facts?, … }`.
 */
export class TraceFacts {
  /** Numbers by description, of tools, which are called most; of all else by the facts' JSON. */
  readonly #tools = new Map<string, NumberedTool>();
  readonly #others = new Map<string, number>();

  /** The row's part `trace`, of what is no effect. */
  ofBoundary(draft: Draft): object | undefined {
    if (draft.kind === 'run' && draft.event === 'started') {
      const caller = draft.span.handle?.caller;
      return caller && { caller };
    }
    if (draft.kind === 'tool' && draft.event === 'started') return this.#ofTool(draft, draft.waitedMs);
    if (draft.kind !== 'agent') return undefined;
    if (draft.event === 'started') {
      const { description } = draft.request;
      const facts = { description };
      return {
        ...this.#shared(JSON.stringify(facts), facts),
        waitedMs: draft.waitedMs,
        parentStep: draft.node.parentStep,
        under: beyondItsCall(draft),
      };
    }
    const { ownUsage, usage } = draft.value;
    // Without workers it is all of it.
    return ownUsage.modelCalls === usage.modelCalls ? undefined : { ownUsage };
  }

  /** Of an effect's start. `waitedMs`: how long it was queued, where it was; `paidBy`: the path of who pays, where its address does not say it. */
  ofCall(start: EffectStart, waitedMs: number | undefined, paidBy?: string): object | undefined {
    const facts = this.#ofCall(start, waitedMs);
    return paidBy === undefined ? facts : { ...facts, paidBy };
  }

  #ofCall(start: EffectStart, waitedMs: number | undefined): object | undefined {
    switch (start.kind) {
      case 'tool':
        return this.#ofTool(start, waitedMs);
      case 'model': {
        const { provider, modelId, server, settings, stream, output } = start.request;
        const facts = { provider, modelId, server, settings, stream, output: output?.name };
        return withWait(this.#shared(JSON.stringify(facts), facts), waitedMs);
      }
      case 'memory':
      case 'embedding':
        return { ...start.request, waitedMs };
      default:
        return undefined;
    }
  }

  #ofTool({ request }: Extract<EffectStart, { kind: 'tool' }>, waitedMs: number | undefined): object {
    const { rule } = request;
    const facts = withWait(this.#factsOfTool(request), waitedMs);
    return rule === undefined ? facts : { ...facts, rule };
  }

  #factsOfTool({ description, delegate, access, sandbox }: ToolIn): { readonly of: number } {
    const numbered = delegate === undefined ? this.#tools.get(description) : undefined;
    if (numbered !== undefined && numbered.access === access && numbered.sandbox === sandbox)
      return { of: numbered.of };
    const facts = { description, delegate, access, sandbox };
    const shared = this.#shared(JSON.stringify(facts), facts);
    if (delegate === undefined) this.#tools.set(description, { of: shared.of, access, sandbox });
    return shared;
  }

  #shared(text: string, facts: object): { readonly of: number; readonly facts?: object } {
    const number = this.#others.get(text);
    if (number !== undefined) return { of: number };
    this.#others.set(text, this.#others.size);
    return { of: this.#others.size - 1, facts };
  }
}

/** The number of a tool's facts, and those that calls of one description may differ in. */
interface NumberedTool {
  readonly of: number;
  readonly access: ToolIn['access'] | undefined;
  readonly sandbox: string | undefined;
}

/** The path of an agent's parent where it is not in the call that started it: that call ends before it does. */
function beyondItsCall({ key, span: { parent }, node }: Draft): string | undefined {
  if (parent === undefined || parent.key !== node.parentStep?.path) return undefined;
  return key.lastIndexOf('/') === parent.key.length ? undefined : parent.key;
}

function withWait(facts: object, waitedMs: number | undefined): object {
  return waitedMs === undefined ? facts : { ...facts, waitedMs };
}
