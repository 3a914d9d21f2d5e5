import type { Endorse } from '../../core/runtime/call-permissions.ts';
import type { Json } from '../../core/values/json.ts';
import { approvalRequest, checkDecision } from '../../security/approval.ts';
import { namesTool } from '../../security/rules.ts';
import type { PermissionParts } from './permission-step.ts';
import { putRequest } from './put-request.ts';

/** Asks a person whether the result of a tool may count as trusted; undefined where the run names no tool for it. */
export function endorsements(parts: PermissionParts): Endorse | undefined {
  const names = parts.options.permissions.endorse;
  if (names === undefined || names.length === 0) return undefined;
  return async ({ key, self, step, tool, label }, content) => {
    const isAsked = label.integrity === 'untrusted' && names.some((name) => namesTool({ tool: name }, tool));
    if (!isAsked) return label;
    const { id: runId, options } = parts;
    const { permissions } = options;
    const expiresAt = permissions.expiresMs === undefined ? undefined : Date.now() + permissions.expiresMs;
    const about = { id: `${key}/@endorse`, runId, path: self.path, agent: self.agent };
    const request = approvalRequest({
      ...about,
      ...{ tool, args: { result: content as Json }, reason: 'data', label, expiresAt },
    });
    const answer = await putRequest(parts, request, self, step);
    if (!answer.ok) return label;
    const checked = checkDecision(answer.value, request, tool, Date.now());
    return checked.verdict === 'allow' ? Object.freeze({ ...label, integrity: 'trusted' }) : label;
  };
}
