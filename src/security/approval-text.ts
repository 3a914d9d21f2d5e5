import type { ApprovalRequest } from '../core/contract/permission.ts';
import { isPlainObject, type Json } from '../core/values/json.ts';
import { asciiHosts, hostWarnings } from './host-warnings.ts';

// Controls, what is laid out but not seen (bidi marks, zero widths, tags, fillers), line separators, halves of characters.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
/** Blanks of any width, also as JSON writes them. So many in a row push what follows out of sight. */
const BLANKS = /(?:[\p{Zs}\u2800]|\\[nrt]){20,}/gu;

/**
 * A request in the form for a person: each argument complete, as JSON on one line, so that no line break can imitate another field.
 * Invisible characters become `⟨U+202E⟩`, twenty and more blanks become their number, host names their ASCII form. Lines that begin
 * with `!` are warnings. A tool's preview of its change follows line by line.
 *
 * @example approve: async (request) => ({ decision: (await confirm(approvalText(request))) ? 'allow' : 'deny' })
 */
export function approvalText(request: ApprovalRequest): string {
  const fields = isPlainObject(request.args) ? Object.entries(request.args) : [['arguments', request.args] as const];
  return [
    headOf(request),
    ...fields.map(([name, value]) => `  ${nameOf(name)}: ${valueText(value)}`),
    ...fields.flatMap(([name, value]) => annotations(value).map((warning) => `  ! ${nameOf(name)}: ${warning}`)),
    ...(request.change === undefined ? [] : ['  it would change:', ...changeLines(request.change)]),
  ].join('\n');
}

function headOf({ path, tool, access, risk, reason, rule, label }: ApprovalRequest): string {
  const facts = `${visibleText(access)}, ${visibleText(risk)} risk`;
  if (reason === 'unknown')
    return `${visibleText(path)} called ${visibleText(tool)} (${facts}) when its process died; nobody knows whether it happened:`;
  if (reason === 'data')
    return `${visibleText(path)} has what ${visibleText(tool)} gave (${facts}); may it count as trusted?`;
  const why = rule === undefined ? reason : `${reason}: ${rule}`;
  const from = label.origins.length === 0 ? '' : ` from ${label.origins.map(visibleText).join(', ')}`;
  const flowText = reason === 'flow' ? `; ${label.integrity}, ${label.confidentiality} data${from} led to it` : '';
  return `${visibleText(path)} asks to call ${visibleText(tool)} (${facts}; asked because of ${visibleText(why)}${flowText}):`;
}

/** A name that could be taken for more than a name is quoted. */
function nameOf(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : visibleText(JSON.stringify(name));
}

function valueText(value: Json): string {
  const text = asciiHosts(JSON.stringify(value) ?? 'null', textsOf(value));
  return visibleText(text).replace(BLANKS, (blanks) => `⟨${blankCount(blanks)} blanks⟩`);
}

/** Warnings about content that a person could miss. */
function annotations(value: Json): string[] {
  const texts = textsOf(value);
  const json = JSON.stringify(value) ?? '';
  const longest = Math.max(0, ...[...json.matchAll(BLANKS)].map(([blanks]) => blankCount(blanks)));
  const hidden = new Set(texts.flatMap((text) => text.match(UNSEEN) ?? []).filter((mark) => !LAYOUT.has(mark)));
  return [
    ...(longest === 0 ? [] : [`long-whitespace: ${longest} blanks in a row`]),
    ...(hidden.size === 0 ? [] : [`hidden characters: ${[...hidden].slice(0, 8).map(codeOf).join(', ')}`]),
    ...texts.flatMap(hostWarnings),
  ];
}

const LAYOUT: ReadonlySet<string> = new Set(['\n', '\r', '\t']);

function blankCount(blanks: string): number {
  return blanks.replace(/\\[nrt]/g, ' ').length;
}

/** All texts in a value, names too. */
function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return Object.entries(value).flatMap(([name, one]) => [name, ...textsOf(one)]);
}

/** Line by line, so that what belongs to a line stays in it. */
function changeLines(change: string): string[] {
  return change.split('\n').map((line) => `  | ${visibleText(line)}`);
}

function visibleText(text: string): string {
  return text.replace(UNSEEN, (mark) => `⟨${codeOf(mark)}⟩`);
}

function codeOf(mark: string): string {
  return `U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
