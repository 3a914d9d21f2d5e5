import { messageOf, ToolError } from '../../core/values/errors.ts';
import { hasControl } from '../../security/rule-value.ts';
import { readContent } from '../workspace/file-content.ts';
import { readText } from '../workspace/file-text.ts';
import { count } from '../workspace/file-tools.ts';
import { entriesOf } from '../workspace/list-files.ts';
import { pathRefusal } from '../workspace/refusal.ts';
import { filesBelow, wantedFiles } from '../workspace/walk-files.ts';
import { Workspace } from '../workspace/workspace.ts';
import { readPath } from '../workspace/workspace-path.ts';
import { readSkillText, type SkillText } from './read-skill-text.ts';

/** A skill that may be offered: its name and description are loaded, the rest is read on request. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The folder of skills that contains it. */
  readonly folder: SkillFolder;
}

const MAX_FILE = 262_144;
const MAX_ENTRIES = 256;
const MAX_LISTED = 100;
const SKILL = 'SKILL.md';

/** A folder whose subfolders are skills. Links are not followed, so that no path leads out of it or from one skill into another. */
export class SkillFolder {
  readonly #workspace: Workspace;

  /** @throws ConfigurationError where the root is no folder, or all of the system. */
  constructor(root: string, field: string) {
    this.#workspace = new Workspace({ root, field });
  }

  /** Its skills by name. Calls `onSkipped` with each one that is left out. */
  async skills(onSkipped: (name: string, why: string) => void): Promise<Skill[]> {
    const found: Skill[] = [];
    const entries = await this.#workspace.inFolder(readPath('.'), (folder) => entriesOf(this.#workspace, folder, []));
    for (const entry of entries.slice(0, MAX_ENTRIES)) {
      if (entry.isSymbolicLink()) onSkipped(entry.name, 'it is a link, and links are not followed');
      if (!entry.isDirectory()) continue;
      const skill = await this.#read(entry.name);
      if (typeof skill === 'string') onSkipped(entry.name, skill);
      else found.push({ name: skill.name, description: skill.description, folder: this });
    }
    if (entries.length > MAX_ENTRIES) onSkipped('…', `the folder has more than ${MAX_ENTRIES} entries`);
    return found;
  }

  /** The instructions of a skill, and the names of the files beside them. */
  async body(name: string): Promise<string> {
    const skill = await this.#read(name);
    if (typeof skill === 'string') throw new ToolError('threw', `the skill ${name} cannot be read any more: ${skill}`);
    const files = await this.#files(name);
    const body = visible(skill.body);
    return files.length === 0 ? body : `${body}\n\nFiles of this skill: ${files.join(', ')}`;
  }

  /** A text file of a skill. Throws a ToolError that names the path as it was given. */
  async file(name: string, given: string): Promise<string> {
    return visible(await this.#text(name, given));
  }

  async #text(name: string, given: string): Promise<string> {
    const path = readPath(`${name}/${given}`);
    if (path.names[0] !== name) throw pathRefusal('path_outside', given, 'leads out of the skill.');
    const content = await this.#workspace.inParent({ ...path, given }, async (folder, file) => {
      const open = await this.#workspace.openFile(folder, file, given);
      try {
        return await readContent(open, MAX_FILE);
      } finally {
        await open.handle.close();
      }
    });
    if (content.isTruncated)
      throw new ToolError(
        'threw',
        `${given} has ${count(content.size)} bytes; files of skills have ${count(MAX_FILE)}.`,
      );
    const read = readText(content.bytes, false);
    if (read === undefined) throw new ToolError('threw', `${given} is no text in UTF-8 or UTF-16.`);
    return read.text;
  }

  /** Also what is wrong with it, as a text. */
  async #read(name: string): Promise<SkillText | string> {
    try {
      return await readSkillText(await this.#text(name, SKILL), name);
    } catch (thrown) {
      return messageOf(thrown);
    }
  }

  async #files(name: string): Promise<string[]> {
    const { start, wanted } = await wantedFiles(this.#workspace, readPath(`${name}/**`));
    return this.#workspace.inFolder({ names: start, isFolder: true, given: name }, async (folder) => {
      const files: string[] = [];
      const passed = { deeper: 0, passedOver: new Set<string>() };
      for await (const { names } of filesBelow(this.#workspace, folder, start, wanted, passed)) {
        const path = names.slice(1).join('/');
        // A path with such a name could not be requested either.
        if (path === SKILL || hasControl(path)) continue;
        if (files.length === MAX_LISTED) return [...files, '…'];
        files.push(path);
      }
      return files;
    });
  }
}

// Controls, bidi marks and tags: characters that control a terminal, or that a model reads and a person does not see.
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Cs}\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, (mark) => `\\u{${(mark.codePointAt(0) ?? 0).toString(16)}}`);
}
