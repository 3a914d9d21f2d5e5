import type { Agent } from '../../core/contract/agent.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { OptionsArgument, RunOptions } from '../../orchestration/run/run-options.ts';
import { serveRun } from '../serve-run.ts';

interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly ChatPart[];
}
type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image' | 'file';
      readonly mediaType: string;
      readonly data: string | { readonly url: string };
      readonly name?: string;
    };

const MEND = 'Send the messages of useChat: { role, parts: [{ type: "text", text }] }.';

/**
 * Starts a run for the messages of `useChat`. All of them are untrusted, the assistant's too, since they come from a browser.
 * Texts and files are input; tool, data and reasoning parts are a view and are left out. The input of a procedure is the last
 * text of the user.
 *
 * @throws ConfigurationError that names the message; its text may be sent with status 400.
 * @example const run = startChatRun(lead, body.messages, { model, journal });
 */
export function startChatRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  messages: unknown,
  ...[options]: OptionsArgument<Deps>
): Run<Output> {
  const read = readMessages(messages);
  const input = agent.type === 'code' ? lastText(read) : read.map(inputMessage);
  return serveRun(agent, input, (options ?? {}) as RunOptions);
}

function readMessages(given: unknown): ChatMessage[] {
  if (!Array.isArray(given) || given.length === 0) throw refused('messages', `expected messages, got ${shown(given)}`);
  return given.flatMap((message: unknown, index) => {
    const at = `messages[${index}]`;
    if (!isPlainObject(message)) throw refused(at, `expected a message, got ${shown(message)}`);
    const { role, parts } = message;
    if (role !== 'user' && role !== 'assistant') throw refused(`${at}.role`, `got ${shown(role)}`);
    if (!Array.isArray(parts)) throw refused(`${at}.parts`, `expected an array, got ${shown(parts)}`);
    const content = parts.flatMap((part, partIndex) => readPart(part, role, `${at}.parts[${partIndex}]`) ?? []);
    return content.length === 0 ? [] : [{ role, content } satisfies ChatMessage];
  });
}

/** A text or a file of the user, or a text of the assistant; undefined for parts that are a view. */
function readPart(part: unknown, role: 'user' | 'assistant', at: string): ChatPart | undefined {
  if (!isPlainObject(part) || typeof part.type !== 'string') throw refused(at, `expected a part, got ${shown(part)}`);
  if (part.type === 'text') {
    if (typeof part.text !== 'string') throw refused(`${at}.text`, `expected text, got ${shown(part.text)}`);
    return part.text === '' ? undefined : { type: 'text', text: part.text };
  }
  if (part.type !== 'file' || role !== 'user') return undefined;
  const { mediaType, url, filename } = part;
  if (typeof mediaType !== 'string') throw refused(`${at}.mediaType`, `expected text, got ${shown(mediaType)}`);
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  const name = typeof filename === 'string' ? { name: filename } : {};
  return { type, mediaType, data: readUrl(url, `${at}.url`), ...name };
}

function readUrl(url: unknown, at: string): string | { url: string } {
  const text = typeof url === 'string' ? url : '';
  const inline = /^data:[^,]*;base64,([A-Za-z0-9+/]*={0,2})$/.exec(text)?.[1];
  if (inline !== undefined) return inline;
  if (text.startsWith('https://') && URL.canParse(text)) return { url: text };
  throw refused(at, 'it is neither an https URL nor a data URL in base64');
}

function inputMessage({ role, content }: ChatMessage) {
  if (role === 'user') return { role, content };
  return { role, content: content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') };
}

function lastText(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user');
  return (last?.content ?? []).flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n');
}

function refused(field: string, problem: string): ConfigurationError {
  return new ConfigurationError(field, problem, MEND);
}
