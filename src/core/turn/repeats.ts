import { canonical } from '../values/json.ts';

/** One call of a turn that is over: what it was and what it gave. */
interface EndedCall {
  readonly signature: string;
  readonly result: string;
}

/** Tools whose job is to be asked again. */
const EXEMPT: ReadonlySet<string> = new Set(['check_workers', 'wait_for_workers', 'read_messages']);

const ASIDE = /[\s\p{Lu}]/u;

/** Name and canonical arguments; case, blanks and number format aside. */
export function signatureOf(name: string, args: unknown): string {
  const text = `${name}(${typeof args === 'string' ? args : canonical(args)})`;
  return ASIDE.test(text) ? text.toLowerCase().replace(/\s+/g, '') : text;
}

/** A turn that is over. Large ones are looked up by a table, made when it is first needed. */
class Turn {
  readonly #calls: readonly EndedCall[];
  #results: Map<string, string> | undefined;

  constructor(calls: readonly EndedCall[]) {
    this.#calls = calls;
  }

  resultOf(signature: string): string | undefined {
    if (this.#calls.length <= 8) return this.#calls.find((call) => call.signature === signature)?.result;
    this.#results ??= new Map(this.#calls.map((call) => [call.signature, call.result]));
    return this.#results.get(signature);
  }
}

/**
 * The repeat guard of one invocation. A call equal to one in each of the turns before, or in every second one (A B A B A),
 * all with the same result, is a repeat. Never looks inside one batch.
 */
export class Repeats {
  readonly #max: number;
  readonly #failuresInARow: number;
  /** Newest last; as many as a repeat needs. */
  readonly #turns: Turn[] = [];
  /** Per tool: turns in a row in which it failed. */
  #failing: Map<string, number> | undefined;

  constructor(max: number, failuresInARow: number) {
    this.#max = max;
    this.#failuresInARow = failuresInARow;
  }

  isRepeat(call: { readonly name: string; readonly signature: string; readonly repeatable: boolean }): boolean {
    if (call.repeatable || EXEMPT.has(call.name)) return false;
    return this.#inEach(call.signature, 1) || this.#inEach(call.signature, 2);
  }

  /**
   * Whether a worker was given the same brief in one turn after the other. Two answers of a model are hardly ever the same, so they
   * are not compared.
   */
  isRedelegated({ signature, repeatable }: { readonly signature: string; readonly repeatable: boolean }): boolean {
    if (repeatable || this.#turns.length < this.#failuresInARow - 1) return false;
    return this.#turns.slice(1 - this.#failuresInARow).every((turn) => turn.resultOf(signature) !== undefined);
  }

  #inEach(signature: string, stride: number): boolean {
    let result: string | undefined;
    for (let back = 1; back < this.#max; back += 1) {
      const earlier = this.#turns[this.#turns.length - back * stride]?.resultOf(signature);
      if (earlier === undefined || (result !== undefined && earlier !== result)) return false;
      result = earlier;
    }
    return true;
  }

  /** Notes a turn that is over. Gives the tool that has now failed in too many turns in a row, if there is one. */
  note(
    calls: readonly {
      readonly name: string;
      readonly signature: string;
      readonly result: string;
      readonly failed: boolean;
      readonly repeatable: boolean;
    }[],
  ): string | undefined {
    this.#turns.push(new Turn(calls));
    if (this.#turns.length > Math.max(2 * (this.#max - 1), this.#failuresInARow - 1)) this.#turns.shift();
    if (this.#failing === undefined && !calls.some(({ failed }) => failed)) return undefined;
    const failing = new Map<string, number>();
    for (const call of calls) if (call.failed) failing.set(call.name, (this.#failing?.get(call.name) ?? 0) + 1);
    for (const call of calls) if (!call.failed) failing.delete(call.name);
    this.#failing = failing.size === 0 ? undefined : failing;
    for (const [name, turns] of failing) if (turns >= this.#failuresInARow) return name;
    return undefined;
  }
}
