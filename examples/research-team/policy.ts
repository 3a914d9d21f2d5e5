import type { Model } from 'coxswain';
import { checkerTurn } from './policy/checker.ts';
import { leadTurn } from './policy/lead.ts';
import { researcherTurn } from './policy/researcher.ts';
import { transcriptOf } from './policy/transcript.ts';

/**
 * A model that is not a language model: rules over the instructions, messages and tools of a request, for runs without a
 * key. The rules do not understand text; they search by words, quote and count, and their report says so. Equal requests give
 * equal turns.
 *
 * From the instructions they use the lines `Method: … .` (researchers) and `Folder: …` (the supervisor).
 */
export function policy(): Model {
  return {
    provider: 'policy',
    id: 'rules',
    async generate({ instructions, messages, tools, toolChoice }) {
      const names = tools.map(({ name }) => name);
      const transcript = transcriptOf(messages);
      if (names.includes('find_quote')) return checkerTurn(transcript);
      if (names.includes('search_documents'))
        return researcherTurn(lineOf(instructions, 'Method').split('.')[0] ?? '', transcript);
      return leadTurn(transcript, names, lineOf(instructions, 'Folder'), toolChoice !== 'none');
    },
  };
}

function lineOf(instructions: string, key: string): string {
  const start = `${key}: `;
  return (
    instructions
      .split('\n')
      .find((line) => line.startsWith(start))
      ?.slice(start.length) ?? ''
  );
}
