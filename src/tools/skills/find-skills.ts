import { realpathSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { ConfigurationError } from '../../core/values/errors.ts';
import { shown } from '../../core/values/options.ts';
import { type Skill, SkillFolder } from './skill-folder.ts';

/** A folder of skills. */
export interface SkillSource {
  readonly path: string;
  /** The option that named it; then a missing folder is an error. */
  readonly field?: string | undefined;
  /** The user's own folder, also inside of the project. */
  readonly isUsers?: boolean | undefined;
}

/** The folders of skills, and the project that they may belong to. */
export interface SkillSources {
  /** In the order of precedence. */
  readonly folders: readonly SkillSource[];
  readonly project: string;
  readonly trustProject: boolean | 'untrusted';
}

/** Called with each skill, or folder of skills, that is not offered. */
export type OnSkipped = (path: string, why: string) => void;

/** The found skills: those of the user and the developer, and those of a project that is offered as untrusted. */
export interface FoundSkills {
  readonly trusted: readonly Skill[];
  readonly untrusted: readonly Skill[];
}

/** Finds skills. The first skill of a name wins; a folder inside the project belongs to the project, also if an option named it. */
export async function findSkills(sources: SkillSources, onSkipped: OnSkipped): Promise<FoundSkills> {
  const found = { trusted: [] as Skill[], untrusted: [] as Skill[] };
  const names = new Set<string>();
  for (const { path: folder, field, isUsers = false } of sources.folders) {
    const root = realRoot(folder, field);
    if (root === undefined) continue;
    const isProject = !isUsers && (isInside(sources.project, root) || isInside(sources.project, resolve(folder)));
    if (isProject && sources.trustProject === false) {
      onSkipped(folder, 'it is the project’s, and trustProject is not set');
      continue;
    }
    if (isProject && !isInside(sources.project, root)) {
      onSkipped(folder, 'it leads out of the project');
      continue;
    }
    const skills = await new SkillFolder(root, 'skills.folders').skills((name, why) =>
      onSkipped(`${folder}/${name}`, why),
    );
    for (const skill of skills) {
      if (names.has(skill.name)) onSkipped(`${folder}/${skill.name}`, 'another skill has this name');
      else (isProject && sources.trustProject === 'untrusted' ? found.untrusted : found.trusted).push(skill);
      names.add(skill.name);
    }
  }
  return found;
}

function realRoot(folder: string, field: string | undefined): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    if (field === undefined) return undefined;
    throw new ConfigurationError(
      field,
      `there is no folder ${shown(folder)}`,
      'Name a folder whose folders are skills.',
    );
  }
}

function isInside(folder: string, path: string): boolean {
  const relativePath = relative(folder, path);
  return (
    relativePath === '' ||
    (relativePath !== '..' && !relativePath.startsWith(`..${sep}`) && resolve(folder, relativePath) === path)
  );
}
