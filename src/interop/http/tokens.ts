import { hash, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';

/** Returns the client of a token; undefined for an unknown token. */
export type NameOf = (token: string) => string | undefined;

const NAME = /^[A-Za-z][\w-]{0,62}$/;
const LEAST = 16;

/** Reads `token` and `tokens`; undefined if there is neither, so that no request needs one. */
export function readTokens(field: string, token: unknown, tokens: unknown): NameOf | undefined {
  if (token === undefined && tokens === undefined) return undefined;
  if (token !== undefined && tokens !== undefined)
    throw new ConfigurationError(`${field}.token`, 'there are tokens as well', 'Give one of the two.');
  const given = tokens ?? { client: token };
  if (!isPlainObject(given) || Object.keys(given).length === 0)
    throw new ConfigurationError(`${field}.tokens`, `got ${shown(given)}`, 'Give a token by client name.');
  const digests = Object.entries(given).map(([name, secret]) => {
    const at = tokens === undefined ? `${field}.token` : `${field}.tokens.${name}`;
    if (!NAME.test(name))
      throw new ConfigurationError(at, 'this is no name for a client', 'Use a letter, then letters, digits, _ and -.');
    // The message must not contain the token.
    if (typeof secret !== 'string' || secret.length < LEAST || !/^[\x21-\x7e]+$/.test(secret))
      throw new ConfigurationError(
        at,
        'this is no token',
        `Use ${LEAST} or more visible ASCII characters: openssl rand -base64 32.`,
      );
    return [name, digest(secret)] as const;
  });
  return (offered) => {
    const own = digest(offered);
    let found: string | undefined;
    // Compares with every token in constant time, so that timing reveals nothing.
    for (const [name, secret] of digests) if (timingSafeEqual(own, secret)) found = name;
    return found;
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** The token of `Authorization: Bearer …`. */
export function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1];
}
