import type { Label } from '../core/values/label.ts';

interface Labelled {
  readonly name: string;
  readonly result?: Partial<Label> | undefined;
  readonly aliases?: readonly string[] | undefined;
}

/** Labels already made: a result's label depends on its tool and the run's trust list only. */
const labels = new WeakMap<Labelled, { trusted?: Label; untrusted?: Label }>();

/**
 * The label of a tool's result, also of its errors: untrusted, public, from this tool; the fields that the tool's `result` names
 * replace these; a tool on the run's `trust` list is trusted. The same object each time for one tool.
 */
export function resultLabel(tool: Labelled, trust: ReadonlySet<string>): Label {
  let made = labels.get(tool);
  if (made === undefined) {
    made = {};
    labels.set(tool, made);
  }
  const isTrusted = trust.has(tool.name) || (trust.size > 0 && tool.aliases?.some((name) => trust.has(name)));
  const integrity = isTrusted ? 'trusted' : (tool.result?.integrity ?? 'untrusted');
  made[integrity] ??= Object.freeze({
    integrity,
    confidentiality: tool.result?.confidentiality ?? 'public',
    origins: Object.freeze([...(tool.result?.origins ?? [tool.name])]),
  });
  return made[integrity];
}
