import type { EffectKind, Entry } from './record.ts';

/** Kinds of records. */
type Kind = Entry['kind'];

interface KindFacts {
  /** Whether what is recorded was done through the port under a key, with an outcome. */
  readonly isEffect: boolean;
  /** Whether an instrument opens a span with its start. A detached child has the span of its agent. */
  readonly hasSpan: boolean;
  /** Whether equal runs must have equal records of it; false where timing, attempts or another process decide. */
  readonly isCompared: boolean;
}

const EFFECT: KindFacts = { isEffect: true, hasSpan: true, isCompared: true };
const BOUNDARY: KindFacts = { isEffect: false, hasSpan: true, isCompared: true };
const FACT: KindFacts = { isEffect: false, hasSpan: false, isCompared: true };
const NOTE: KindFacts = { isEffect: false, hasSpan: false, isCompared: false };

const FACTS = {
  run: BOUNDARY,
  agent: BOUNDARY,
  step: NOTE,
  model: EFFECT,
  tool: EFFECT,
  memory: EFFECT,
  embedding: EFFECT,
  child: { ...EFFECT, hasSpan: false },
  wait: FACT,
  decision: FACT,
  once: FACT,
  sleep: FACT,
  stop: FACT,
  limit: FACT,
  diverged: NOTE,
  gate: NOTE,
  context: NOTE,
} satisfies Record<Kind, KindFacts>;

/** Undefined of a kind that is none of ours: rows of a file are input. */
function factsOf(kind: string): KindFacts | undefined {
  return Object.hasOwn(FACTS, kind) ? FACTS[kind as Kind] : undefined;
}

export function isEffect(kind: string): kind is EffectKind {
  return factsOf(kind)?.isEffect === true;
}

/** Whether an instrument opens a span with the start of such a record. */
export function hasSpan(kind: string): boolean {
  return factsOf(kind)?.hasSpan === true;
}

/** Whether two equal runs have equal records of this kind. */
export function isCompared(kind: string): boolean {
  return factsOf(kind)?.isCompared !== false;
}
