/** An approval, from its request until its call starts. */
export interface Approval {
  readonly id: string;
  readonly path: string;
  readonly since: bigint;
  state: 'pending' | 'allowed' | 'denied' | 'answered';
  waitMs: number;
}

export function approvalState(decision: string): Approval['state'] {
  if (decision === 'allow' || decision === 'retry') return 'allowed';
  return decision === 'deny' || decision === 'failed' ? 'denied' : 'answered';
}

/** The conventions have no approvals, so these names are coxswain's own. */
export function approvalAttributes({ id, state, waitMs }: Approval): Record<string, string | number> {
  return {
    'coxswain.approval.id': id,
    'coxswain.approval.state': state,
    ...(state === 'pending' ? {} : { 'coxswain.approval.wait_ms': waitMs }),
  };
}
