import { isPlainObject, type Json } from '../../core/values/json.ts';

/** Who what entered a transcript at a step's boundary came from: `operator`, an agent, or a worker's id; undefined for all else that was recorded once. */
export function arrivedFrom(key: string, value: Json): readonly string[] | undefined {
  if (!key.endsWith('/@inbox') || !Array.isArray(value) || value.length === 0) return undefined;
  return value.map((arrival) => {
    if (!isPlainObject(arrival)) return '';
    const { message, worker } = arrival;
    return String(worker ?? (isPlainObject(message) ? (message.from ?? '') : ''));
  });
}
