import type { RunRecord } from '../../core/contract/record.ts';
import { hasSpan } from '../../core/contract/record-kinds.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { ToolOut } from '../../core/values/tool-value.ts';
import { knownSettings } from '../otel/initial-span.ts';
import type { LineSpan } from './line.ts';

/** The open spans of a run, for the lines of its log: a worker's first line also shows those around it, so that a log that ends early still holds the whole tree. */
export class LineSpans {
  /** By kind and address. */
  readonly #open = new Map<string, LineSpan>();
  /** By id: where a run is its only agent's span, the agent. */
  readonly #byId = new Map<string, LineSpan>();
  /** The spans whose start is on a line. */
  readonly #shown = new Set<LineSpan>();
  /** Model facts that were shown last, by path. */
  readonly #facts = new Map<string, string>();

  /** The lines so far are in another file: what is open is shown again. */
  restate(): void {
    this.#shown.clear();
    this.#facts.clear();
  }

  /** Notes a start. */
  started(record: RunRecord): void {
    if (!opensSpan(record) || this.#open.has(`${record.kind} ${record.key}`)) return;
    const { key, kind, spanId, parentSpanId, time } = record;
    const facts = this.#factsOf(record);
    const span: LineSpan = {
      ...{ key, kind, id: spanId },
      ...(parentSpanId !== undefined && { parent: parentSpanId }),
      start: String(time),
      ...(facts !== undefined && { facts }),
    };
    this.#open.set(`${kind} ${key}`, span);
    this.#byId.set(spanId, span);
  }

  /** The span that a record ends; undefined where it ends none. */
  ended(record: RunRecord): LineSpan | undefined {
    if (record.event === 'started' || record.event === 'retry') return undefined;
    const open = this.#open.get(`${record.kind} ${record.key}`);
    if (open === undefined) return undefined;
    this.#open.delete(`${record.kind} ${record.key}`);
    if (this.#byId.get(open.id) === open) this.#byId.delete(open.id);
    this.#shown.delete(open);
    const outcome = outcomeOf(record);
    return { ...open, end: String(record.time), ...(outcome !== undefined && { outcome }) };
  }

  /** Open spans around and at one that no line has shown yet, the outermost first. */
  around(spanId: string): readonly LineSpan[] {
    const found: LineSpan[] = [];
    for (let at = this.#byId.get(spanId); at !== undefined; at = this.#byId.get(at.parent ?? '')) found.unshift(at);
    const [run] = this.#open.values();
    if (run?.kind === 'run' && found[0] !== run) found.unshift(run);
    const fresh = found.filter((span) => !this.#shown.has(span));
    for (const span of fresh) this.#shown.add(span);
    return fresh;
  }

  #factsOf(record: RunRecord): Json | undefined {
    if (record.event !== 'started') return undefined;
    const facts = factsOf(record);
    if (record.kind !== 'model') return facts;
    const text = JSON.stringify(facts);
    if (this.#facts.get(record.node.path) === text) return undefined;
    this.#facts.set(record.node.path, text);
    return facts;
  }
}

function opensSpan(record: RunRecord): record is RunRecord & { readonly kind: LineSpan['kind'] } {
  return record.event === 'started' && hasSpan(record.kind);
}

function factsOf(record: Extract<RunRecord, { event: 'started' }>): Json | undefined {
  const waited = record.waitedMs === undefined ? {} : { waitedMs: record.waitedMs };
  switch (record.kind) {
    case 'run': {
      const { agent, team, from, forkedFrom, parentRun } = record.request;
      return {
        ...{ agent, team, epoch: record.epoch },
        ...(from && { from }),
        ...(forkedFrom && { forkedFrom }),
        ...(parentRun && { parentRun }),
      };
    }
    case 'agent': {
      const { description, type, model } = record.request;
      return { description, type, ...(model !== undefined && { model }), ...waited };
    }
    case 'model': {
      const { provider, modelId, server, settings, stream, output } = record.request;
      return {
        ...{ provider, modelId, settings: knownSettings(settings), stream },
        ...(server && { server }),
        ...(output && { output: output.name }),
        ...waited,
      };
    }
    case 'tool': {
      const { name, callId, description, delegate, mcp } = record.request;
      return {
        ...{ name, callId, description },
        ...(delegate !== undefined && { delegate }),
        ...(mcp !== undefined && { mcp }),
        ...waited,
      };
    }
    case 'memory':
    case 'embedding': {
      // What is looked for or kept is content.
      const shown = MEMORY_FACTS.flatMap((name): [string, Json][] => {
        const value = record.request[name];
        return value === undefined ? [] : [[name, value]];
      });
      return { ...Object.fromEntries(shown), ...waited };
    }
    default:
      return undefined;
  }
}

const MEMORY_FACTS = ['operation', 'store', 'id', 'provider', 'model', 'embedder', 'dimensions'] as const;

function outcomeOf(record: RunRecord): Json | undefined {
  if (record.event === 'cancel' || (record.event === 'failed' && record.kind !== 'tool'))
    return { error: record.value.kind, cut: record.event === 'cancel' };
  switch (record.kind) {
    case 'run':
    case 'agent': {
      if (record.event === 'started') return undefined;
      const { status, error, ownUsage, steps, toolCalls } = record.value;
      return { status, ...(error && { error: error.kind }), usage: { ...ownUsage }, steps, toolCalls };
    }
    case 'tool':
      if (record.event === 'started') return undefined;
      return record.value.isError ? toolOutcome(record.value) : undefined;
    case 'memory':
      return record.event === 'done' ? memoryOutcome(record.value) : undefined;
    case 'model':
      return record.attempt > 1 ? { attempt: record.attempt } : undefined;
    default:
      return undefined;
  }
}

function toolOutcome({ error }: ToolOut): Json {
  return { error: error?.kind ?? 'tool_error', ...(error?.code !== undefined && { code: error.code }) };
}

function memoryOutcome(value: Json): Json | undefined {
  if (Array.isArray(value)) return { count: value.length };
  return isPlainObject(value) && typeof value.id === 'string' ? { id: value.id } : undefined;
}
