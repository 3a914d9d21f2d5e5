import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { defineTool, type ToolOptions } from '../../core/call/define-tool.ts';
import type { LeafTool } from '../../core/contract/tool.ts';
import type { JsonSchema } from '../../core/schema/schema.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { checkFunction, checkOneOf, checkOptions, checkText, checkWhole, shown } from '../../core/values/options.ts';
import { findSkills, type OnSkipped, type SkillSource } from './find-skills.ts';
import type { Skill } from './skill-folder.ts';

/** What {@link skills} takes. */
export interface SkillOptions {
  /** Folders whose subfolders are skills; the first of a name wins. Default `.agents/skills` of the project, then of the user's home. */
  readonly folders?: readonly string[] | undefined;
  /** The project's folder. Default the working directory. */
  readonly project?: string | undefined;
  /**
   * Whether skills inside the project's folder are offered, which may come from a cloned repository: `false` (default) leaves
   * them out, `untrusted` offers them so that an agent that read one needs approval to write or send, `true` offers them like the
   * user's own.
   */
  readonly trustProject?: boolean | 'untrusted' | undefined;
  /** Called with each skill that is left out, and the reason. Default: a process warning for each, except those of an untrusted project. */
  readonly onSkipped?: OnSkipped | undefined;
  /** Characters of a result. Default 20,000. */
  readonly maxResultChars?: number | undefined;
}

const OPTIONS = ['folders', 'project', 'trustProject', 'onSkipped', 'maxResultChars'];
/** Characters of all names and descriptions in a tool's description: each request carries it. */
const MAX_LIST = 16_000;

/**
 * Skills (folders with a `SKILL.md`, https://agentskills.io) as tools for an agent: it sees names and descriptions, and reads the instructions
 * and the files beside them when it needs them. `read_skill` for those of the user, `read_project_skill` (whose results are
 * untrusted) for a project's with `trustProject: 'untrusted'`; none if there is no skill. Nothing is executed: a skill's scripts are text, which only a tool of yours can execute.
 *
 * @throws ConfigurationError that names the option.
 * @example defineAgent({ name: 'editor', instructions: '…', tools: [...(await skills({ trustProject: true })), ...workspaceTools({ root: '.' })] })
 */
export async function skills(options: SkillOptions = {}): Promise<readonly LeafTool[]> {
  checkOptions('skills', options, OPTIONS);
  const { folders, trustProject = false, onSkipped = warn, maxResultChars = 20_000 } = options;
  checkOneOf('skills.trustProject', trustProject, [true, false, 'untrusted']);
  checkFunction('skills.onSkipped', onSkipped);
  checkWhole('skills.maxResultChars', maxResultChars, 1_000);
  const project = readProject(options.project ?? process.cwd());
  if (
    folders !== undefined &&
    (!Array.isArray(folders) || folders.some((one) => typeof one !== 'string' || one === ''))
  )
    throw new ConfigurationError('skills.folders', `got ${shown(folders)}`, "List folders: ['skills'].");
  const named = folders?.map((path, index) => ({ path, field: `skills.folders[${index}]` }));
  const sources = { folders: named ?? standardSources(project), project, trustProject };
  const { trusted, untrusted } = await findSkills(sources, onSkipped);
  const [own, ofProject] = [withinList(trusted, onSkipped), withinList(untrusted, onSkipped)];
  const tools = [
    ...(own.length > 0 ? [readSkill(own, maxResultChars)] : []),
    ...(ofProject.length > 0 ? [readProjectSkill(ofProject, maxResultChars)] : []),
  ];
  return Object.freeze(tools);
}

/** If the project is the user's home folder, there is one source, the user's. */
function standardSources(project: string): readonly SkillSource[] {
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

/** As many as fit into the list. */
function withinList(found: readonly Skill[], onSkipped: OnSkipped): Skill[] {
  let remaining = MAX_LIST;
  return found.filter(({ name, description }) => {
    remaining -= name.length + description.length + 5;
    if (remaining < 0) onSkipped(name, `names and descriptions of all skills are longer than ${MAX_LIST} characters`);
    return remaining >= 0;
  });
}

const FILE = {
  type: 'string',
  minLength: 1,
  description: 'A file of the skill, such as references/forms.md; without, its instructions',
} as const;

/** The tool for trusted skills: its description, which is part of the prompt, has the purpose of each. */
function readSkill(offered: readonly Skill[], maxResultChars: number): LeafTool {
  const list = listOf(offered);
  const names = offered.map(({ name }) => name);
  return define(offered, {
    name: 'read_skill',
    description: `Reads a skill: how to do a kind of work well, with files beside it. Read the one that fits before you begin such work; read its files when it says so. Skills:\n${list}`,
    result: { integrity: 'trusted' },
    maxResultChars,
    input: {
      type: 'object',
      properties: { name: { type: 'string', enum: names, description: 'Which skill' }, file: FILE },
      required: ['name'],
      additionalProperties: false,
    },
  });
}

/** The tool for untrusted skills: the prompt has no text of theirs. Even their list comes as a result, which is labelled. */
function readProjectSkill(offered: readonly Skill[], maxResultChars: number): LeafTool {
  const name = { type: 'string', description: 'Which skill; without, a list of them' } as const;
  return define(offered, {
    name: 'read_project_skill',
    description:
      'Reads a skill that comes with the project: how to do a kind of work, with files beside it. Nobody has checked them. Without a name it lists what there is.',
    result: { integrity: 'untrusted' },
    maxResultChars,
    input: { type: 'object', properties: { name, file: FILE }, additionalProperties: false },
  });
}

function define(
  offered: readonly Skill[],
  options: Pick<ToolOptions<JsonSchema>, 'name' | 'description' | 'result' | 'maxResultChars' | 'input'>,
): LeafTool {
  const byName = new Map(offered.map((skill) => [skill.name, skill]));
  return defineTool({
    ...options,
    access: 'read',
    ruleArg: 'name',
    async execute(input) {
      const { name, file } = input as { readonly name?: string; readonly file?: string };
      if (name === undefined) return listOf(offered);
      const skill = byName.get(name);
      if (skill === undefined)
        throw new ToolError(
          'invalid_args',
          `there is no skill ${shown(name)}; there are ${[...byName.keys()].join(', ')}`,
        );
      return file === undefined ? skill.folder.body(name) : skill.folder.file(name, file);
    },
  }) as LeafTool;
}

function listOf(offered: readonly Skill[]): string {
  return offered.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
}

function warn(path: string, why: string): void {
  if (why.includes('trustProject')) return;
  process.emitWarning(`skills: ${JSON.stringify(path.slice(0, 200))} is left out: ${why}`, 'CoxswainWarning');
}
