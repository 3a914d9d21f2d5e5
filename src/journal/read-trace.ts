import type { ParentStep } from '../core/contract/record.ts';
import type { FactsOfAgent, FactsOfModel, FactsOfTool, SharedFacts } from '../core/runtime/stored-entry.ts';
import type { StartRow, TypedRow } from './read-row.ts';

/** What a trace needs of a row, whatever its kind. */
export interface RowTrace {
  readonly waitedMs?: number | undefined;
  readonly paidBy?: string | undefined;
  readonly parentStep?: ParentStep | undefined;
  /** The path of an agent's parent, where its address does not say it. */
  readonly under?: string | undefined;
}

const NOTHING: RowTrace = Object.freeze({});

export function traceOf(row: TypedRow): RowTrace {
  if (row.event !== 'started') return NOTHING;
  switch (row.kind) {
    case 'agent':
    case 'tool':
      return row.request.trace ?? NOTHING;
    case 'model':
      return row.request?.trace ?? NOTHING;
    case 'memory':
    case 'embedding': {
      const { waitedMs, paidBy } = row.request?.trace ?? {};
      return {
        ...(typeof waitedMs === 'number' && { waitedMs }),
        ...(typeof paidBy === 'string' && { paidBy }),
      };
    }
    default:
      return NOTHING;
  }
}

/** Reads facts that are stored once an epoch, in the first row that has them. */
export class FactsReader {
  readonly #agents = new Map<number, FactsOfAgent>();
  readonly #models = new Map<number, FactsOfModel>();
  readonly #tools = new Map<number, FactsOfTool>();

  /** Another epoch. */
  clear(): void {
    this.#agents.clear();
    this.#models.clear();
    this.#tools.clear();
  }

  agent({ request: { trace } }: StartRow<'agent'>): FactsOfAgent | undefined {
    return shared(this.#agents, trace);
  }

  model({ request }: StartRow<'model'>): FactsOfModel | undefined {
    return shared(this.#models, request?.trace);
  }

  tool({ request: { trace } }: StartRow<'tool'>): FactsOfTool | undefined {
    return shared(this.#tools, trace);
  }
}

function shared<Facts>(read: Map<number, Facts>, trace: SharedFacts<Facts> | undefined): Facts | undefined {
  if (trace?.of === undefined) return undefined;
  if (trace.facts !== undefined) read.set(trace.of, trace.facts);
  return read.get(trace.of);
}
