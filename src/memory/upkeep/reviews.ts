import { idOf } from '../file/memory-options.ts';
import type { LongTermMemory } from '../long-term-memory-type.ts';
import type { MemoryHandle } from '../search/memory-handle.ts';
import { acceptProposal, proposedText } from './accept-proposal.ts';
import { insertProposal, parseProposal, proposalsIn, takeProposal } from './proposals.ts';

type Reviews = Pick<LongTermMemory, 'propose' | 'proposals' | 'accept' | 'reject'>;

/** The methods for proposals: list, accept and reject. */
export function reviews(handle: MemoryHandle): Reviews {
  return {
    async propose(input) {
      const file = await handle.open();
      return file.transaction(() => insertProposal(file, parseProposal(file, input), Date.now()));
    },

    async proposals(namespace) {
      return proposalsIn(await handle.open(), namespace);
    },

    async accept(id, options = {}, signal) {
      idOf(id);
      const text = proposedText(await handle.open(), id);
      const [vector] = text === undefined ? [] : await handle.texts.ofTexts([text], [], signal);
      const file = await handle.open();
      const done = file.transaction(() => acceptProposal(file, id, options, handle.writing(vector)));
      if (done === undefined) file.purge();
      return done;
    },

    async reject(id, options = {}) {
      idOf(id);
      const file = await handle.open();
      const taken = file.transaction(() => takeProposal(file, id, options.namespace));
      if (taken !== undefined) file.purge();
      return taken !== undefined;
    },
  };
}
