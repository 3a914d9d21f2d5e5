/** How a person is shown an ask; default: by access. */
export type Risk = 'low' | 'medium' | 'high';

/** Every access, from the harmless to the dangerous. */
export const ACCESSES = ['read', 'write', 'send', 'spend', 'delete', 'execute'] as const;

/** What a call does to the world. Risk, side effect, what a resume does and whether a person is asked follow from it. */
export type Access = (typeof ACCESSES)[number];

interface AccessFacts {
  readonly risk: Risk;
  /** False where a call changes nothing: it may run beside others and again. */
  readonly hasEffect: boolean;
  /** True where what the call is given leaves: private and secret data must not. */
  readonly sends: boolean;
  /** True where a person may answer `always`: such a call need not be asked for each time. */
  readonly mayAlways: boolean;
}

const HIGH: AccessFacts = { risk: 'high', hasEffect: true, sends: false, mayAlways: false };

/** What follows from each access. */
export const ACCESS_FACTS = {
  read: { risk: 'low', hasEffect: false, sends: false, mayAlways: true },
  write: { risk: 'medium', hasEffect: true, sends: false, mayAlways: true },
  send: { ...HIGH, sends: true },
  spend: HIGH,
  delete: HIGH,
  execute: HIGH,
} satisfies Record<Access, AccessFacts>;
