import { realpathSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { ConfigurationError } from '../../core/values/errors.ts';
import { shown } from '../../core/values/options.ts';
import { type Skill, SkillFolder } from './skill-folder.ts';

/** A folder of skills. */
export interface SkillPlace {
  readonly path: string;
  /** The option that named it: then it is a mistake where it is missing. */
  readonly field?: string | undefined;
  /** The user's own, wherever it stands. */
  readonly isUsers?: boolean | undefined;
}

/** Where skills are looked for, and whose they are. */
export interface SkillPlaces {
  /** In the order of precedence. */
  readonly folders: readonly SkillPlace[];
  readonly project: string;
  readonly trustProject: boolean | 'untrusted';
}

/** What is told of each skill, or folder of skills, that is not offered. */
export type LeftOut = (path: string, why: string) => void;

/** What was found: the user's and the developer's, and those of a project that is read without being trusted. */
export interface FoundSkills {
  readonly trusted: readonly Skill[];
  readonly untrusted: readonly Skill[];
}

/** Finds skills. A name stands for the first that has it; a folder inside the project is the project's, whoever named it. */
export async function findSkills(places: SkillPlaces, leftOut: LeftOut): Promise<FoundSkills> {
  const found = { trusted: [] as Skill[], untrusted: [] as Skill[] };
  const names = new Set<string>();
  for (const { path: folder, field, isUsers = false } of places.folders) {
    const root = realRoot(folder, field);
    if (root === undefined) continue;
    const isProject = !isUsers && (isInside(places.project, root) || isInside(places.project, resolve(folder)));
    if (isProject && places.trustProject === false) {
      leftOut(folder, 'it is the project’s, and trustProject is not set');
      continue;
    }
    if (isProject && !isInside(places.project, root)) {
      leftOut(folder, 'it leads out of the project');
      continue;
    }
    const skills = await new SkillFolder(root, 'skills.folders').skills((name, why) =>
      leftOut(`${folder}/${name}`, why),
    );
    for (const skill of skills) {
      if (names.has(skill.name)) leftOut(`${folder}/${skill.name}`, 'another skill has this name');
      else (isProject && places.trustProject === 'untrusted' ? found.untrusted : found.trusted).push(skill);
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
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && resolve(folder, way) === path);
}
