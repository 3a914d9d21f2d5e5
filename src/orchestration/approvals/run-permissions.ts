import { checkPermissions } from '../../agents/define-agent.ts';
import type { RunPermissions } from '../../core/contract/permission.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { checkOneOf, checkOptions, checkPositive, shown } from '../../core/values/options.ts';
import type { Level } from '../../security/decide.ts';
import { readPermissionFile } from '../../security/permission-file.ts';
import type { RuledTool } from '../../security/rules.ts';

const NONE: readonly Level[] = [];

/** @throws ConfigurationError that names the field, where the permissions of a run are wrong. */
export function checkRunPermissions(permissions: RunPermissions | undefined): void {
  checkPermissions('permissions', permissions, ['trust', 'expiresMs', 'files', 'endorse', 'plans']);
  if (permissions === undefined) return;
  checkPositive('permissions.expiresMs', permissions.expiresMs);
  checkOneOf('permissions.plans', permissions.plans, [true, false]);
  checkPermissionFiles(permissions.files);
  for (const list of ['trust', 'endorse'] as const) {
    const names: unknown = permissions[list];
    if (names === undefined || (Array.isArray(names) && names.every((name) => typeof name === 'string'))) continue;
    throw new ConfigurationError(
      `permissions.${list}`,
      `expected an array of names, got ${shown(names)}`,
      'List tools.',
    );
  }
}

/** The levels of the permission files, project before user. The process warns of lines that do not count. */
export function permissionLevels(
  { files, mode = 'ask' }: RunPermissions,
  tools: () => readonly RuledTool[] | undefined,
): readonly Level[] {
  if (files === undefined) return NONE;
  return (['project', 'user'] as const).flatMap((source) => {
    const path = files[source];
    const read = path === undefined ? undefined : readPermissionFile(path, source, tools(), mode);
    for (const problem of read?.ignored ?? []) process.emitWarning(problem, { code: 'COXSWAIN_PERMISSIONS' });
    return read?.level ?? [];
  });
}

/** @throws ConfigurationError where `permissions.files` names no files. */
function checkPermissionFiles(files: unknown): void {
  if (files === undefined) return;
  checkOptions('permissions.files', files, ['project', 'user']);
  for (const [name, path] of Object.entries(files as object))
    if (path !== undefined && (typeof path !== 'string' || path === ''))
      throw new ConfigurationError(`permissions.files.${name}`, `got ${shown(path)}`, "Name a file: 'coxswain.json'.");
}
