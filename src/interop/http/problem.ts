import { ConfigurationError, isA, messageOf } from '../../core/values/errors.ts';
/** What a request is refused with, as `type` of the problem: `urn:coxswain:problem:<kind>`. */
export type ProblemKind =
  | 'bad-host'
  | 'bad-origin'
  | 'bad-request'
  | 'conflict'
  | 'content-type'
  | 'elsewhere'
  | 'failed'
  | 'forbidden'
  | 'invalid-input'
  | 'limited'
  | 'method'
  | 'not-found'
  | 'too-large'
  | 'unauthenticated';

const STATUS: { readonly [kind in ProblemKind]: readonly [status: number, title: string] } = {
  'bad-host': [403, 'The Host of the request is not one of this server'],
  'bad-origin': [403, 'Pages of this origin may not ask'],
  'bad-request': [400, 'The request is malformed'],
  conflict: [409, 'The request does not fit how things stand'],
  'content-type': [415, 'The body is not JSON'],
  elsewhere: [409, 'The run is under way in another process'],
  failed: [500, 'The server failed'],
  forbidden: [403, 'This client may not do that'],
  'invalid-input': [422, 'The input does not fit'],
  limited: [429, 'A limit of this client is met'],
  method: [405, 'The method is not one of this path'],
  'not-found': [404, 'There is no such thing'],
  'too-large': [413, 'The body is too large'],
  unauthenticated: [401, 'A valid token is missing'],
};

/** A refusal that is sent to the client (RFC 9457): kind and message, never a stack or a secret. */
export class Problem extends Error {
  readonly kind: ProblemKind;
  readonly status: number;
  readonly headers: { readonly [name: string]: string };

  constructor(kind: ProblemKind, detail: string, headers: { readonly [name: string]: string } = {}, status?: number) {
    super(detail);
    this.kind = kind;
    this.status = status ?? STATUS[kind][0];
    this.headers = headers;
  }

  /** The `application/problem+json` document. */
  toJSON(): object {
    const { kind, status, message } = this;
    return { type: `urn:coxswain:problem:${kind}`, title: STATUS[kind][1], status, detail: message };
  }
}

/** Turns a ConfigurationError about the state of a run into a conflict with the library's message. */
export async function asConflict(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (isA(thrown, ConfigurationError)) throw new Problem('conflict', messageOf(thrown));
    throw thrown;
  }
}
