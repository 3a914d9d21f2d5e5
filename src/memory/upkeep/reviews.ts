import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { idOf, labelOf } from '../file/memory-options.ts';
import { parseEntry } from '../file/parse-entry.ts';
import { type Memory, memoryOf } from '../file/versions.ts';
import { addEntry, expectVersion, replace, type Writing } from '../file/write-entry.ts';
import type { AcceptOptions, LongTermMemory, Proposal } from '../long-term-memory-type.ts';
import type { MemoryHandle } from '../search/memory-handle.ts';
import { insertProposal, parseProposal, proposalsIn, takeProposal } from './proposals.ts';
import { removeEntry } from './removal.ts';

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

/** The text that a proposal would store; undefined where there is none. */
function proposedText(file: MemoryFile, id: string): string | undefined {
  const row = file.get<{ body: string }>('SELECT body FROM proposals WHERE id = ?', id);
  return row && (JSON.parse(row.body) as Proposal).text;
}

/** Applies a proposal and deletes it; undefined if it removed an entry. Within a transaction. */
function acceptProposal(file: MemoryFile, id: string, options: AcceptOptions, writing: Writing): Memory | undefined {
  const label = labelOf(options.label, 'options.label');
  const proposal = takeProposal(file, id, options.namespace);
  if (proposal === undefined) throw new ConfigurationError('id', 'there is no such proposal', 'List what waits.');
  const { operation, entry, id: _, ...proposed } = proposal;
  const content = label === undefined ? proposed : { ...proposed, label: structuredClone(label) };
  if (operation === 'add') return addEntry(file, parseEntry(content, randomUUID()).memory, writing);
  const row = expectVersion(file, entry?.id ?? '', entry?.version ?? 0);
  if (operation === 'remove') {
    removeEntry(file, row.id, writing.now);
    return undefined;
  }
  const memory = { ...memoryOf(row), ...content, id: row.id, version: row.version + 1 };
  return replace(file, row, memory, writing, 'update');
}
