import { messageOf } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { hasControl } from '../../security/rule-value.ts';

/** A skill from its `SKILL.md`. */
export interface SkillText {
  readonly name: string;
  readonly description: string;
  /** The text below the front matter. */
  readonly body: string;
}

const MAX_HEAD = 16_384;
const MAX_DESCRIPTION = 1_024;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Reads a `SKILL.md`: a head in YAML between lines of `---`, with `name` and `description`, and the instructions below it
 * (https://agentskills.io/specification). Gives what is wrong as a text: a skill is left out then, and not the whole folder.
 */
export async function readSkillText(text: string, folder: string): Promise<SkillText | string> {
  const [, head, body] = /^\uFEFF?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n(.*))?$/s.exec(text) ?? [];
  if (head === undefined) return 'it does not begin with a head between two lines of ---';
  if (head.length > MAX_HEAD) return `its head is longer than ${MAX_HEAD} characters`;
  const facts = await parseHead(head);
  if (typeof facts === 'string') return facts;
  const { name, description } = facts;
  if (typeof name !== 'string' || name.length > 64 || !NAME.test(name))
    return 'its name is not 1 to 64 small letters, digits and single hyphens';
  if (name !== folder) return `its name is ${name}, and not that of its folder`;
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description';
  const line = description.replace(/\s+/g, ' ').trim();
  if (line.length > MAX_DESCRIPTION) return `its description is longer than ${MAX_DESCRIPTION} characters`;
  if (hasControl(line)) return 'its description holds characters that cannot be seen';
  return { name, description: line, body: (body ?? '').trim() };
}

async function parseHead(head: string): Promise<Record<string, unknown> | string> {
  const { parseDocument } = await import('yaml');
  try {
    const document = parseDocument(head, { logLevel: 'silent', prettyErrors: false, uniqueKeys: true });
    const [error] = document.errors;
    if (error !== undefined) return `its head is no YAML (${error.code})`;
    // Front matter needs no aliases, and few of them can expand to gigabytes.
    const facts: unknown = document.toJS({ maxAliasCount: 0 });
    return isPlainObject(facts) ? facts : 'its head is no map';
  } catch (thrown) {
    return `its head cannot be read (${messageOf(thrown).slice(0, 80)})`;
  }
}
