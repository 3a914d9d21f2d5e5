import { randomUUID } from 'node:crypto';
/** The distinct ids of calls and results, in the order of a transcript. */
export interface DistinctIds {
  /** The id of a call: its own the first time, another where an earlier turn had it too. */
  call(id: string): string;
  /** The id that the newest call of that id was given. */
  result(id: string): string;
}

/**
 * Some servers restart their ids in every turn, and some endpoints need ids that are distinct over the whole transcript. A new id
 * depends only on earlier messages, so that their bytes stay unchanged.
 *
 * @param length the longest id that the endpoint accepts
 */
export function distinctIds(length: number): DistinctIds {
  const taken = new Set<string>();
  const newest = new Map<string, string>();
  return {
    call(id) {
      let given = id;
      for (let count = 2; taken.has(given); count++) {
        const end = `_${count}`;
        given = id.slice(0, length - end.length) + end;
      }
      taken.add(given);
      newest.set(id, given);
      return given;
    },
    result: (id) => newest.get(id) ?? id,
  };
}

/** Makes ids for calls that came without one, in the form of the provider's own. */
export function callIds(prefix: string): () => string {
  return () => `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
