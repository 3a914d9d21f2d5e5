import { checkPermissions } from '../../agents/define-agent.ts';
import type { RunPermissions } from '../../core/contract/permission.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { checkOneOf, checkPositive, shown } from '../../core/values/options.ts';
import { checkPermissionFiles } from './permission-files.ts';

/** @throws ConfigurationError for what a run may not say of its calls, with the field. */
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
