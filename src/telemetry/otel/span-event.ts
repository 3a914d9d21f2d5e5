import type { Attributes } from '@opentelemetry/api';
import type { RunRecord } from '../../core/contract/record.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';

/** A record without a span, as an event on the span of its agent or of its run. */
export interface SpanEvent {
  readonly on: 'agent' | 'run';
  readonly name: string;
  readonly attributes: Attributes;
}

/** The event of a record about a window, a limit, a gate, a stop, a divergence or an arrived message; undefined for all other records. It has no content. */
export function spanEvent(record: RunRecord): SpanEvent | undefined {
  if (record.event !== 'done') return undefined;
  switch (record.kind) {
    case 'context': {
      const { how, dropped, tokensBefore, tokensAfter, error } = record.value;
      const attributes = {
        'coxswain.context.how': how,
        'coxswain.context.dropped': dropped,
        'coxswain.context.tokens_before': tokensBefore,
        'coxswain.context.tokens_after': tokensAfter,
        ...(error !== undefined && { 'error.type': error.kind }),
      };
      return { on: 'agent', name: 'coxswain.context.compact', attributes };
    }
    case 'limit': {
      const { limit, used, max } = record.value;
      const attributes = { 'coxswain.limit.name': limit, 'coxswain.limit.used': used, 'coxswain.limit.max': max };
      return { on: 'agent', name: 'coxswain.limit', attributes };
    }
    case 'gate': {
      const { gate, state } = record.value;
      return { on: 'agent', name: `coxswain.gate.${state}`, attributes: { 'coxswain.gate': gate } };
    }
    case 'stop': {
      const { path, status } = record.value;
      const attributes = { 'coxswain.stop.path': path, 'coxswain.stop.status': status };
      return { on: 'run', name: 'coxswain.stop', attributes };
    }
    case 'once': {
      const from = arrivedFrom(record.key, record.value);
      if (from === undefined) return undefined;
      return { on: 'agent', name: 'coxswain.message.arrived', attributes: { 'coxswain.message.from': [...from] } };
    }
    case 'diverged': {
      const attributes = { 'coxswain.diverged.parts': [...record.value.parts] };
      return { on: 'agent', name: 'coxswain.diverged', attributes };
    }
    default:
      return undefined;
  }
}

/** Who what entered a transcript at a step's boundary came from: `operator`, an agent, or a worker's id; undefined for all else that was recorded once. */
export function arrivedFrom(key: string, value: Json): readonly string[] | undefined {
  if (!key.endsWith('/@inbox') || !Array.isArray(value) || value.length === 0) return undefined;
  return value.map((arrival) => {
    if (!isPlainObject(arrival)) return '';
    const { message, worker } = arrival;
    return String(worker ?? (isPlainObject(message) ? (message.from ?? '') : ''));
  });
}
