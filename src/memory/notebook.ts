import { accessSync, constants, globSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { Embedder, MemoryStore } from '../core/contract/memory.ts';
import { codePointBoundary } from '../core/values/bound-json.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { type Label, UNTRUSTED } from '../core/values/label.ts';
import { checkedFields, labelOf, stringOf } from './file/memory-options.ts';
import { longTermMemory } from './long-term-memory.ts';

export interface NotebookOptions {
  /** A folder of Markdown files, also in folders below it. */
  readonly folder: string;
  /** Of what is read there. Default: untrusted and public. */
  readonly label?: Label | undefined;
  /** Without one the search is by words. */
  readonly embedder?: Embedder | undefined;
}

const MAX_FILES = 2_000;
const MAX_BYTES = 1_000_000;
const MAX_HEADING = 200;
const NAMESPACE = 'notebook';

/**
 * A folder of Markdown files as a store that agents can search, not write: each paragraph with its heading is an entry, whose
 * source is file and line. Files are read at the first search, and again when they
 * changed. Links out of the folder, dangling links, and hidden, unreadable and large files are skipped.
 *
 * @throws ConfigurationError at once for options; at a search for a folder that is not there or has too many files.
 * @example memory: [{ store: notebook({ folder: 'notes' }), namespace: 'notes' }]
 */
export function notebook(options: NotebookOptions): MemoryStore {
  const fields = checkedFields(options, 'notebook', ['folder', 'label', 'embedder']);
  const folder = resolve(stringOf(fields, 'folder', 'notebook'));
  const label = labelOf(fields.label, 'notebook.label') ?? UNTRUSTED;
  const entries = longTermMemory({ file: ':memory:', embedder: options.embedder });
  const readFiles = new Map<string, { readonly state: string; readonly ids: readonly string[] }>();
  let reading: Promise<void> = Promise.resolve();

  const refresh = async (signal: AbortSignal | undefined) => {
    const present = filesOf(folder);
    for (const name of readFiles.keys()) if (!present.has(name)) await forget(name);
    for (const [name, state] of present) {
      if (readFiles.get(name)?.state === state) continue;
      await forget(name);
      const text = readFileSync(join(folder, name), 'utf8').toWellFormed();
      const list = sectionsOf(text).map((section) => ({
        text: section.text,
        namespace: NAMESPACE,
        source: `${name}:${section.line}`,
        // Equal paragraphs of two files are two entries.
        metadata: { file: name, line: section.line },
        label,
      }));
      const added = await entries.addAll(list, signal);
      readFiles.set(name, { state, ids: added.map(({ id }) => id) });
    }
  };
  const forget = async (name: string) => {
    for (const id of readFiles.get(name)?.ids ?? []) await entries.remove(id);
    readFiles.delete(name);
  };
  return Object.freeze({
    id: folder.slice(folder.lastIndexOf(sep) + 1),
    ...(options.embedder === undefined ? {} : { embedder: options.embedder }),
    add: () => Promise.reject(new ConfigurationError('notebook', 'can only be read', 'Write its files by hand.')),
    async search(query, { namespace, ...rest }, signal) {
      // One after another: two searches must not both take in what changed.
      reading = reading.catch(() => undefined).then(() => refresh(signal));
      await reading;
      const hits = await entries.search(query, { ...rest, namespace: NAMESPACE }, signal);
      return hits.map((hit) => Object.freeze({ ...hit, namespace }));
    },
  } satisfies MemoryStore);
}

/** Name → what changes when its content does. */
function filesOf(folder: string): Map<string, string> {
  let root: string;
  try {
    root = realpathSync(folder);
  } catch {
    throw new ConfigurationError('notebook.folder', 'is not there', 'Name a folder of Markdown files.');
  }
  const names = globSync('**/*.md', { cwd: root, exclude: (name) => name.startsWith('.') }).sort();
  if (names.length > MAX_FILES) {
    throw new ConfigurationError('notebook.folder', `has more than ${MAX_FILES} files`, 'Name a smaller one.');
  }
  const files = new Map<string, string>();
  for (const name of names) {
    const state = stateOf(root, name);
    if (state !== undefined) files.set(name, state);
  }
  return files;
}

function stateOf(root: string, name: string): string | undefined {
  try {
    const real = realpathSync(join(root, name));
    const facts = statSync(real);
    if (!real.startsWith(root + sep) || !facts.isFile() || facts.size > MAX_BYTES) return undefined;
    accessSync(real, constants.R_OK);
    return `${facts.mtimeMs}/${facts.size}/${facts.ino}`;
  } catch {
    // A dangling link, or a file that was just deleted or is not readable.
    return undefined;
  }
}

/** Paragraphs with their heading and their first line. */
export function sectionsOf(markdown: string): { text: string; line: number }[] {
  const sections: { text: string; line: number }[] = [];
  let heading = '';
  let lines: string[] = [];
  let begin = 1;
  const end = () => {
    const text = lines.join('\n').trim();
    if (text !== '') sections.push({ text: heading === '' ? text : `${heading}\n${text}`, line: begin });
    lines = [];
  };
  let fenced = false;
  markdown.split(/\r?\n/).forEach((line, index) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    const title = fenced ? null : /^#{1,6}\s+(.*)/.exec(line);
    if (title !== null || (line.trim() === '' && !fenced)) end();
    if (title !== null) heading = shortHeading(title[1] ?? '');
    else {
      if (lines.length === 0) begin = index + 1;
      if (lines.length > 0 || line.trim() !== '') lines.push(line);
    }
  });
  end();
  return sections;
}

/** The heading is stored with each paragraph, so a long one would be repeated many times. */
function shortHeading(title: string): string {
  const heading = title.trim();
  return heading.slice(0, codePointBoundary(heading, MAX_HEADING));
}
