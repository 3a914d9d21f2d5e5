import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { defineTool } from '../../core/define-tool.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { checkFunction, checkOneOf, checkOptions, checkText, checkWhole, shown } from '../../core/options.ts';
import type { LeafTool } from '../../core/tool.ts';
import { findSkills, type LeftOut, type SkillPlace } from './find-skills.ts';
import type { Skill } from './skill-folder.ts';

/** What {@link skills} takes. */
export interface SkillOptions {
  /** Folders whose folders are skills, first wins. Default `.agents/skills` of the project, then of the user's home. */
  readonly folders?: readonly string[] | undefined;
  /** The project's folder. Default the working directory. */
  readonly project?: string | undefined;
  /**
   * Whether skills inside the project's folder are offered, which come with whatever was cloned: `false` (default) leaves them out,
   * `untrusted` offers them so that nobody who read one writes or sends unasked, `true` takes them like the user's own.
   */
  readonly trustProject?: boolean | 'untrusted' | undefined;
  /** Told of each skill that is left out, and why. Default a process warning for each, but for a project that is not trusted. */
  readonly onLeftOut?: LeftOut | undefined;
  /** Characters of a result. Default 20,000. */
  readonly maxResultChars?: number | undefined;
}

const OPTIONS = ['folders', 'project', 'trustProject', 'onLeftOut', 'maxResultChars'];
/** Characters of all names and descriptions in a tool's description: each request carries it. */
const MAX_LIST = 16_000;

/**
 * Skills (folders with a `SKILL.md`, https://agentskills.io) as tools for an agent: it sees names and descriptions, and reads the instructions
 * and the files beside them when it needs them. `read_skill` for those of the user, `read_project_skill` (whose results are
 * untrusted) for a project's with `trustProject: 'untrusted'`; none where there is no skill. Nothing is run: a skill's scripts are
 * text, and run only by a tool that you give.
 *
 * @throws ConfigurationError that names the option.
 * @example defineAgent({ name: 'editor', instructions: '…', tools: [...(await skills({ trustProject: true })), ...workspaceTools({ root: '.' })] })
 */
export async function skills(options: SkillOptions = {}): Promise<readonly LeafTool[]> {
  checkOptions('skills', options, OPTIONS);
  const { folders, trustProject = false, onLeftOut = warn, maxResultChars = 20_000 } = options;
  checkOneOf('skills.trustProject', trustProject, [true, false, 'untrusted']);
  checkFunction('skills.onLeftOut', onLeftOut);
  checkWhole('skills.maxResultChars', maxResultChars, 1_000);
  const project = readProject(options.project ?? process.cwd());
  if (
    folders !== undefined &&
    (!Array.isArray(folders) || folders.some((one) => typeof one !== 'string' || one === ''))
  )
    throw new ConfigurationError('skills.folders', `got ${shown(folders)}`, "List folders: ['skills'].");
  const named = folders?.map((path, index) => ({ path, field: `skills.folders[${index}]` }));
  const places = { folders: named ?? standardPlaces(project), project, trustProject };
  const { trusted, untrusted } = await findSkills(places, onLeftOut);
  const tools: LeafTool[] = [];
  const add = (name: string, integrity: 'trusted' | 'untrusted', found: readonly Skill[]) => {
    const offered = withinList(found, onLeftOut);
    if (offered.length > 0) tools.push(readSkill(name, integrity, offered, maxResultChars));
  };
  add('read_skill', 'trusted', trusted);
  add('read_project_skill', 'untrusted', untrusted);
  return Object.freeze(tools);
}

/** Of a project that is the user's home there is one, the user's. */
function standardPlaces(project: string): readonly SkillPlace[] {
  const [ofProject, ofUser] = [project, homedir()].map((root) => join(root, '.agents/skills'));
  const users = { path: ofUser ?? '', isUsers: true };
  return ofProject === undefined || ofProject === ofUser ? [users] : [{ path: ofProject }, users];
}

function readProject(given: unknown): string {
  checkText('skills.project', given, 'Name the folder of the project.');
  try {
    return realpathSync(given);
  } catch {
    throw new ConfigurationError('skills.project', `there is no folder ${shown(given)}`, 'Name an existing one.');
  }
}

/** As many as there is room for. */
function withinList(found: readonly Skill[], leftOut: LeftOut): Skill[] {
  let left = MAX_LIST;
  return found.filter(({ name, description }) => {
    left -= name.length + description.length + 5;
    if (left < 0) leftOut(name, `names and descriptions of all skills are longer than ${MAX_LIST} characters`);
    return left >= 0;
  });
}

function readSkill(
  name: string,
  integrity: 'trusted' | 'untrusted',
  offered: readonly Skill[],
  maxResultChars: number,
): LeafTool {
  const byName = new Map(offered.map((skill) => [skill.name, skill]));
  const list = offered.map((skill) => `- ${skill.name}: ${skill.description}`).join('\n');
  const whose = integrity === 'trusted' ? '' : ' They come with the project, and nobody has checked them.';
  return defineTool({
    name,
    description: `Reads a skill: how to do a kind of work well, with files beside it. Read the one that fits before you begin such work; read its files when it says so.${whose} Skills:\n${list}`,
    access: 'read',
    result: { integrity },
    ruleArg: 'name',
    maxResultChars,
    input: {
      type: 'object',
      properties: {
        name: { type: 'string', enum: [...byName.keys()], description: 'Which skill' },
        file: {
          type: 'string',
          minLength: 1,
          description: 'A file of the skill, such as references/forms.md; without, its instructions',
        },
      },
      required: ['name'],
      additionalProperties: false,
    },
    async execute(input) {
      const { name: wanted, file } = input as { readonly name: string; readonly file?: string };
      const skill = byName.get(wanted);
      if (skill === undefined) throw new Error(`there is no skill ${shown(wanted)}`);
      return file === undefined ? skill.folder.body(wanted) : skill.folder.file(wanted, file);
    },
  }) as LeafTool;
}

function warn(path: string, why: string): void {
  if (why.includes('trustProject')) return;
  process.emitWarning(`skills: ${JSON.stringify(path.slice(0, 200))} is left out: ${why}`, 'CoxswainWarning');
}
