import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { strictJson } from '../../core/schema/strict-json.ts';
import type { Json } from '../../core/values/json.ts';
import { Problem } from './problem.ts';

/** Reads a JSON body of at most `max` bytes; no body is undefined. A larger body is not stored. */
export async function readBody(request: IncomingMessage, max: number): Promise<Json | undefined> {
  const text = await readBodyText(request, max);
  if (text === '') return undefined;
  const parsed = strictJson(text);
  if (!parsed.ok) throw new Problem('bad-request', `The body is no JSON that is taken: ${parsed.message}`);
  return parsed.value;
}

/** The body as text; refuses a content type other than JSON. */
export async function readBodyText(request: IncomingMessage, max: number): Promise<string> {
  const { 'content-length': stated, 'content-type': type = '', 'transfer-encoding': coding } = request.headers;
  const length = stated === undefined ? 0 : Number(stated);
  const isEmpty = coding === undefined && length === 0;
  // A page can post other types without a CORS preflight.
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type) && !(isEmpty && type === ''))
    throw new Problem('content-type', 'Send application/json.');
  const tooLarge = () => new Problem('too-large', `The body may have ${max} bytes.`);
  if (length > max) throw tooLarge();
  if (request.headers['content-encoding'] !== undefined)
    throw new Problem('content-type', 'Send the body without Content-Encoding.');
  const chunks: Buffer[] = [];
  let total = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const take = (chunk: Buffer) => {
    total += chunk.length;
    if (total > max) reject(tooLarge());
    else chunks.push(chunk);
  };
  const broken = () => {
    if (!request.complete) reject(new Problem('bad-request', 'The connection was closed before the body was whole.'));
  };
  request.on('data', take).once('end', resolve).once('error', broken).once('close', broken);
  try {
    await promise;
  } finally {
    request.off('data', take).off('error', broken).off('close', broken).pause();
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw new Problem('bad-request', 'The body is not UTF-8.');
  return bytes.toString();
}
