/** Whether anyone but the caller may have written it: what is untrusted must not steer an effect unasked. */
export type Integrity = 'trusted' | 'untrusted';
/** Who may read it: what is private is sent after an ask only, what is secret never. */
export type Confidentiality = 'public' | 'private' | 'secret';

/** What is known of where a piece of data came from: who may have written it, who may read it, which sources it has. */
export interface Label {
  readonly integrity: Integrity;
  readonly confidentiality: Confidentiality;
  /** Tools, stores and callers the data came from; bounded to {@link MAX_ORIGINS}. */
  readonly origins: readonly string[];
}

const MAX_ORIGINS = 16;

export const TRUSTED: Label = Object.freeze({
  integrity: 'trusted',
  confidentiality: 'public',
  origins: Object.freeze([]),
});
export const UNTRUSTED: Label = Object.freeze({
  integrity: 'untrusted',
  confidentiality: 'public',
  origins: Object.freeze([]),
});

const SECRECY: Record<Confidentiality, number> = { public: 0, private: 1, secret: 2 };

/** Worst of both: untrusted wins, the more confidential wins, the origins of both. Returns `a` itself where `b` adds nothing. */
export function joinLabels(a: Label, b: Label): Label {
  if (a === b) return a;
  const integrity = a.integrity === 'untrusted' ? a.integrity : b.integrity;
  const isNoSecret = SECRECY[a.confidentiality] >= SECRECY[b.confidentiality];
  const confidentiality = isNoSecret ? a.confidentiality : b.confidentiality;
  const isNew = a.origins.length < MAX_ORIGINS && b.origins.some((origin) => !a.origins.includes(origin));
  if (integrity === a.integrity && isNoSecret && !isNew) return a;
  const added = isNew ? b.origins.filter((origin) => !a.origins.includes(origin)) : [];
  return Object.freeze({
    integrity,
    confidentiality,
    origins: Object.freeze([...a.origins, ...added].slice(0, MAX_ORIGINS)),
  });
}
