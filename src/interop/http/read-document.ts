import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';
import type { HostRule, UrlRules } from '../../tools/fetch/allowed-url.ts';
import { type FollowOptions, follow } from '../../tools/fetch/follow.ts';
import { readPage } from '../../tools/fetch/read-page.ts';

const MAX_BYTES = 8_388_608;
const TIMEOUT_MS = 20_000;

/** An OpenAPI document, as it is, or read from a file or an address: JSON or YAML. @throws ConfigurationError where it cannot be read. */
export async function readDocument(
  field: string,
  given: unknown,
  localHosts: readonly HostRule[],
  options: FollowOptions,
): Promise<{ readonly document: Json; readonly at: URL | undefined }> {
  if (isPlainObject(given)) return { document: given as Json, at: undefined };
  if (typeof given !== 'string' && !(given instanceof URL))
    throw new ConfigurationError(
      field,
      `got ${shown(given)}`,
      'Pass a document, or where it is: a file or an https address.',
    );
  const url = given instanceof URL ? given : /^(?:https?|file):/.test(given) ? new URL(given) : undefined;
  try {
    const isRemote = url !== undefined && url.protocol !== 'file:';
    const text = isRemote
      ? await textAt(url, localHosts, options)
      : await textIn(url === undefined ? String(given) : fileURLToPath(url));
    return { document: await parsed(text), at: isRemote ? url : undefined };
  } catch (thrown) {
    throw new ConfigurationError(
      field,
      `it cannot be read: ${messageOf(thrown).slice(0, 200)}`,
      'Check the file or the address.',
    );
  }
}

async function textIn(file: string): Promise<string> {
  const { size } = await stat(file);
  if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, at most ${MAX_BYTES}`);
  return readFile(file, 'utf8');
}

async function textAt(url: URL, localHosts: readonly HostRule[], options: FollowOptions): Promise<string> {
  const rules: UrlRules = {
    protocols: ['https', 'http'],
    hosts: [{ host: url.hostname, port: undefined }],
    localHosts,
  };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { answer, at } = await follow(url.href, rules, options, signal);
  const { status, text, note } = await readPage(answer, at, MAX_BYTES, signal);
  if (status !== 200 || text === null || note !== undefined)
    throw new Error(`the server answered ${status}${note === undefined ? '' : ` (${note})`}`);
  return text;
}

/** YAML, of which JSON is a part; references within it cannot make it large. */
async function parsed(text: string): Promise<Json> {
  if (/^\s*[{[]/.test(text)) return JSON.parse(text) as Json;
  const { parse } = await import('yaml');
  return parse(text, { maxAliasCount: 100 }) as Json;
}
