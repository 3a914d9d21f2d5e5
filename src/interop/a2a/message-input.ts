import type { Message, Part } from '@a2a-js/sdk';
import type { Agent } from '../../core/contract/agent.ts';
import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { readDecision } from '../../security/approval.ts';

/** The agent's input from a message of another agent: the value of a data part, a text, or a message with files. */
export function messageInput({ ownInput, type }: Agent, { parts }: Message): unknown {
  const data = parts.find(({ content }) => content?.$case === 'data');
  if (data?.content?.$case === 'data') return plain(data.content.value);
  const text = partsText(parts);
  const hasFiles = parts.some(({ content }) => content?.$case === 'raw' || content?.$case === 'url');
  if (hasFiles && type === 'model') return [{ role: 'user', content: parts.flatMap(ourPart) }];
  if (!ownInput || type === 'model') return text;
  // A procedure with its own input schema received a text: only JSON can fit it.
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The texts of a message. */
export function partsText(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('\n');
}

function ourPart({ content, mediaType, filename }: Part): object[] {
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  const facts = { type, mediaType: mediaType || 'application/octet-stream', ...(filename && { name: filename }) };
  switch (content?.$case) {
    case 'text':
      return [{ type: 'text', text: content.value }];
    case 'raw':
      return [{ ...facts, data: content.value.toString('base64') }];
    case 'url':
      return [{ ...facts, data: { url: content.value } }];
    default:
      return [];
  }
}

/** Values of the wire as JSON alone. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

export interface RequestAnswer {
  readonly id: string;
  readonly decision: Decision;
}

const YES = /^\s*(?:allow|allowed|approve|approved|yes|ok)\s*[.!]?\s*$/i;
const NO = /^\s*(?:deny|denied|reject|rejected|no)\s*[.!]?\s*$/i;

/**
 * Reads the answers to pending requests from a message: `{ id, decision, … }` or `{ decisions: […] }` as a data part. If one
 * request alone is pending, the id is optional, and a text suffices: yes or no for an approval, anything for a question.
 * Returns the problem as a text if the message is no answer.
 */
export function readAnswers(
  { parts }: Message,
  pending: readonly (ApprovalRequest | WaitRequest)[],
): readonly RequestAnswer[] | string {
  const [only, another] = pending;
  if (only === undefined) return 'nothing waits for an answer';
  const data = parts.find(({ content }) => content?.$case === 'data')?.content;
  if (data?.$case === 'data') return answersOfData(plain(data.value), pending);
  const text = partsText(parts);
  if (another !== undefined) return 'several requests wait: answer with a data part { decisions: [{ id, decision }] }';
  if (only.reason === 'wait') return [{ id: only.id, decision: { decision: 'answer', value: text } }];
  if (YES.test(text)) return [{ id: only.id, decision: { decision: 'allow' } }];
  if (NO.test(text)) return [{ id: only.id, decision: { decision: 'deny' } }];
  return 'answer yes or no, or with a data part { decision }';
}

function answersOfData(
  value: Json,
  pending: readonly (ApprovalRequest | WaitRequest)[],
): readonly RequestAnswer[] | string {
  const entries = isPlainObject(value) && Array.isArray(value.decisions) ? value.decisions : [value];
  const answers: RequestAnswer[] = [];
  for (const one of entries) {
    const { id, ...rest }: Record<string, unknown> = isPlainObject(one) ? one : { decision: one };
    const request = pending.find((waiting) => waiting.id === id) ?? (id === undefined ? pending[0] : undefined);
    if (request === undefined || (id === undefined && pending.length > 1)) return 'name the id of a request that waits';
    const decision = readDecision(
      request.reason === 'wait' && rest.decision === undefined ? { decision: 'answer', value: one } : rest,
    );
    if (typeof decision === 'string') return decision;
    answers.push({ id: request.id, decision });
  }
  return answers;
}
