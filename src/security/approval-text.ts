import type { ApprovalRequest } from '../core/contract/permission.ts';
import { isPlainObject, type Json } from '../core/values/json.ts';
import { asciiHosts, hostRemarks } from './shown-hosts.ts';

// Controls, what is laid out but not seen (bidi marks, zero widths, tags, fillers), line separators, halves of characters.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
/** Blanks of any width, also as JSON writes them. So many in a row push what follows out of sight. */
const BLANKS = /(?:[\p{Zs}\u2800]|\\[nrt]){20,}/gu;

/**
 * A request as a person is to see it: each argument whole, as JSON in one line of its own, so that no line break of it can forge
 * another field. What cannot be seen stands there as `⟨U+202E⟩`, twenty blanks and more as their number, a host's name in its ASCII form.
 * Lines that begin with `!` warn. Of a tool that can say what it changes, that follows line by line.
 *
 * @example approve: async (request) => ({ decision: (await confirm(approvalText(request))) ? 'allow' : 'deny' })
 */
export function approvalText(request: ApprovalRequest): string {
  const fields = isPlainObject(request.args) ? Object.entries(request.args) : [['arguments', request.args] as const];
  return [
    headOf(request),
    ...fields.map(([name, value]) => `  ${nameOf(name)}: ${shownValue(value)}`),
    ...fields.flatMap(([name, value]) => annotations(value).map((remark) => `  ! ${nameOf(name)}: ${remark}`)),
    ...(request.change === undefined ? [] : ['  it would change:', ...changeLines(request.change)]),
  ].join('\n');
}

function headOf({ path, tool, access, risk, reason, rule, label }: ApprovalRequest): string {
  const facts = `${seen(access)}, ${seen(risk)} risk`;
  if (reason === 'unknown')
    return `${seen(path)} called ${seen(tool)} (${facts}) when its process died; nobody knows whether it happened:`;
  if (reason === 'data') return `${seen(path)} has what ${seen(tool)} gave (${facts}); may it count as trusted?`;
  const why = rule === undefined ? reason : `${reason}: ${rule}`;
  const from = label.origins.length === 0 ? '' : ` from ${label.origins.map(seen).join(', ')}`;
  const flow = reason === 'flow' ? `; ${label.integrity}, ${label.confidentiality} data${from} led to it` : '';
  return `${seen(path)} asks to call ${seen(tool)} (${facts}; asked because of ${seen(why)}${flow}):`;
}

/** A name that could be taken for more than a name is quoted. */
function nameOf(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : seen(JSON.stringify(name));
}

function shownValue(value: Json): string {
  const text = asciiHosts(JSON.stringify(value) ?? 'null', textsOf(value));
  return seen(text).replace(BLANKS, (blanks) => `⟨${blankCount(blanks)} blanks⟩`);
}

/** What a person would easily miss. */
function annotations(value: Json): string[] {
  const texts = textsOf(value);
  const whole = JSON.stringify(value) ?? '';
  const longest = Math.max(0, ...[...whole.matchAll(BLANKS)].map(([blanks]) => blankCount(blanks)));
  const hidden = new Set(texts.flatMap((text) => text.match(UNSEEN) ?? []).filter((mark) => !LAYOUT.has(mark)));
  return [
    ...(longest === 0 ? [] : [`long-whitespace: ${longest} blanks in a row`]),
    ...(hidden.size === 0 ? [] : [`hidden characters: ${[...hidden].slice(0, 8).map(codeOf).join(', ')}`]),
    ...texts.flatMap(hostRemarks),
  ];
}

const LAYOUT: ReadonlySet<string> = new Set(['\n', '\r', '\t']);

function blankCount(blanks: string): number {
  return blanks.replace(/\\[nrt]/g, ' ').length;
}

/** Of a value and all in it: names too. */
function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return Object.entries(value).flatMap(([name, one]) => [name, ...textsOf(one)]);
}

/** Line by line, so that what belongs to a line stays in it. */
function changeLines(change: string): string[] {
  return change.split('\n').map((line) => `  | ${seen(line)}`);
}

function seen(text: string): string {
  return text.replace(UNSEEN, (mark) => `⟨${codeOf(mark)}⟩`);
}

function codeOf(mark: string): string {
  return `U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
