import type { HookName } from '../contract/hooks.ts';
import { isPlainObject, type Json } from '../values/json.ts';
import { joinLabels, type Label } from '../values/label.ts';

/** What the hooks of one boundary gave together. As recorded: JSON. */
export interface HookAnswer {
  readonly block?: string;
  readonly label?: Label;
  readonly args?: Json;
  readonly note?: string;
  readonly annotations?: readonly Json[];
}

const FIELDS: Record<HookName, readonly string[]> = {
  beforeModel: ['block', 'label', 'annotate'],
  afterModel: ['block', 'label', 'annotate'],
  beforeTool: ['block', 'label', 'annotate', 'args'],
  afterTool: ['block', 'label', 'annotate', 'note'],
  onEnd: ['block', 'label', 'annotate'],
};

const INTEGRITY: readonly unknown[] = ['trusted', 'untrusted'];
const CONFIDENTIALITY: readonly unknown[] = ['public', 'private', 'secret'];

/** Joins one more hook's answer to those before. Throws an Error that says what it may not give. */
export function withAnswer(before: HookAnswer, given: unknown, name: HookName): HookAnswer {
  if (given === undefined || given === null) return before;
  if (!isPlainObject(given)) throw new Error(`gave ${typeof given}; it gives nothing or an object`);
  for (const field of Object.keys(given)) {
    if (given[field] !== undefined && !FIELDS[name].includes(field))
      throw new Error(`gave ${JSON.stringify(field)}; it may give ${FIELDS[name].join(', ')}`);
  }
  const { block, label, args, note, annotate } = given;
  for (const [field, text] of Object.entries({ block, note }))
    if (text !== undefined && typeof text !== 'string') throw new Error(`gave a ${field} that is no text`);
  const read = label === undefined ? undefined : labelOf(label);
  return {
    ...before,
    ...(typeof block === 'string' && { block: block === '' ? 'no reason given' : block }),
    ...(read !== undefined && { label: before.label === undefined ? read : joinLabels(before.label, read) }),
    ...(args !== undefined && { args: jsonOf(args) }),
    ...(typeof note === 'string' && { note: before.note === undefined ? note : `${before.note}\n${note}` }),
    ...(annotate !== undefined && { annotations: [...(before.annotations ?? []), jsonOf(annotate)] }),
  };
}

/** What is not named is the best there is: joined, it makes nothing worse. */
function labelOf(given: unknown): Label {
  if (!isPlainObject(given)) throw new Error('gave a label that is no object');
  const { integrity = 'trusted', confidentiality = 'public', origins = [], ...more } = given;
  const isLabel =
    INTEGRITY.includes(integrity) &&
    CONFIDENTIALITY.includes(confidentiality) &&
    Array.isArray(origins) &&
    origins.every((origin) => typeof origin === 'string') &&
    Object.keys(more).length === 0;
  if (!isLabel) throw new Error('gave a label that is none');
  return { integrity, confidentiality, origins: [...origins] } as Label;
}

function jsonOf(value: unknown): Json {
  const text = JSON.stringify(value);
  if (text === undefined) throw new Error('gave what JSON cannot hold');
  return JSON.parse(text) as Json;
}
