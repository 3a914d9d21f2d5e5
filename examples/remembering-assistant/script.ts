import type { ModelRequest } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

/** Without a key, scripts stand in for the model, one per session: they call the tools and repeat the results. */
export const scripts = [
  scriptedModel([
    callTools(toolCall('memory_search', { query: 'where does the user live, what do they drink' })),
    callTools(
      toolCall('memory_save', { text: 'The user lives in Lisbon', kind: 'user', key: 'user/city' }),
      toolCall('memory_save', { text: 'The user drinks tea', kind: 'user', key: 'user/drink' }),
    ),
    '(scripted) Noted.',
  ]),
  scriptedModel([
    callTools(toolCall('memory_save', { text: 'The user lives in Porto', kind: 'user', key: 'user/city' })),
    callTools(toolCall('memory_search', { query: 'where the user lives and what the user drinks' })),
    (request) => `(scripted) I know: ${found(request)}`,
  ]),
  scriptedModel([
    callTools(toolCall('memory_search', { query: 'what Ana drinks' })),
    (request) => `(scripted) I know: ${found(request)}`,
  ]),
];

/** The texts of the last search. */
function found({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'tool');
  const { hits } = JSON.parse(String(last?.content)) as { hits: { text: string }[] };
  return hits.map(({ text }) => text).join(', ') || 'nothing';
}
