import type { ModelTurn } from 'coxswain';
import { z } from 'zod';
import { type Claim, Claims, type Verdict, Verdicts } from '../claims.ts';
import { type Evidence, report, type Section } from '../report.ts';
import { tellingWordsOf } from '../terms.ts';
import { facetsOf } from './facets.ts';
import { type Answered, call, parsed, say, type Transcript } from './transcript.ts';

const CHECKER = 'delegate_checker';
const DOUBTS = 'Doubts and exceptions';
/** Maximum of claims in one report: the checker may look up fifty, and its answer must not be truncated. */
const MAX_CLAIMS = 24;
const MAX_VERDICTS_CHARS = 6_000;
const SIGNATURE =
  "Written by rules, not by a language model: they found these paragraphs by the question's words and checked each against " +
  'its file. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, or LLM_MODEL and LLM_BASE_URL, and the same team runs on a model.';

const Task = z.object({ task: z.string() });
const Notes = z.object({ hits: z.array(z.object({ text: z.string() })) });
const Range = z.object({ path: z.string(), from: z.int() });

/** A claim, and which part of the question it answers. */
interface Found extends Claim {
  readonly section: string;
}

/** One turn each to split and search, to check, to read and note, and to write. With `mayCall` false it writes what it has. */
export function leadTurn(transcript: Transcript, tools: readonly string[], facts: string, mayCall: boolean): ModelTurn {
  const { brief, answered } = transcript;
  const facets = facetsOf(brief);
  const researchers = tools.filter((name) => name.startsWith('delegate_') && name !== CHECKER);
  const memory = (name: string, args: object) => (tools.includes(name) ? [{ name, args }] : []);
  if (answered.length === 0 && mayCall) {
    const delegations = facets.flatMap((task) => researchers.map((name) => ({ name, args: { task } })));
    return call([...memory('memory_search', { query: brief }), ...delegations]);
  }
  const found = claimsOf(answered);
  const check = answered.find(({ name }) => name === CHECKER);
  if (check === undefined && found.length > 0 && mayCall) {
    return call([{ name: CHECKER, args: { claims: found.map(({ section: _, ...claim }) => claim) } }]);
  }
  const verdicts = verdictsOf(check);
  const ranges = rangesOf(found, verdicts);
  const read = answered.filter(({ name }) => name === 'read_lines');
  if (read.length === 0 && ranges.length > 0 && mayCall) {
    const text = `Asked: ${brief} Paragraphs found: ${ranges.length}`;
    return call([...ranges.map((args) => ({ name: 'read_lines', args })), ...memory('memory_save', { text })]);
  }
  const sections = sectionsOf(found, verdicts, read);
  const unchecked = check === undefined || check.isError ? found : [];
  const notes = [
    ...resultNotes(brief, facets, sections, unchecked),
    ...failureNotes(answered, verdicts),
    ...recalled(answered),
    facts,
    SIGNATURE,
  ];
  // If the question is not split, the title of the report repeats it already.
  const titled = sections.map((section) =>
    facets.length === 1 && section.title !== DOUBTS ? { ...section, title: 'Evidence' } : section,
  );
  return say(
    report(
      brief,
      titled,
      notes.filter((note) => note !== ''),
    ),
  );
}

/** The claims of all researchers in the order of the calls, each paragraph once; doubts come last. */
function claimsOf(answered: readonly Answered[]): Found[] {
  const claims: Found[] = [];
  const researched = answered.filter(({ name }) => name.startsWith('delegate_') && name !== CHECKER);
  const inOrder = [...researched].sort((a, b) => Number(isDoubter(a)) - Number(isDoubter(b)));
  let left = MAX_VERDICTS_CHARS;
  for (const one of inOrder) {
    const task = Task.safeParse(one.args);
    const output = Claims.safeParse(parsed(one.result));
    if (one.isError || !task.success || !output.success) continue;
    for (const claim of output.data.claims) {
      if (claims.length === MAX_CLAIMS || claims.some((other) => overlap(other, claim))) continue;
      left -= claim.path.length + 80;
      if (left > 0) claims.push({ ...claim, section: isDoubter(one) ? DOUBTS : task.data.task });
    }
  }
  return claims;
}

/** An item and the list that contains it count as one. */
function overlap(a: Claim, b: Claim): boolean {
  return a.path === b.path && a.line <= b.to && b.line <= a.to;
}

function isDoubter({ name }: Answered): boolean {
  return name === 'delegate_doubter';
}

function verdictsOf(check: Answered | undefined): Verdict[] {
  const output = Verdicts.safeParse(parsed(check?.result ?? ''));
  return check !== undefined && !check.isError && output.success ? output.data.verdicts : [];
}

/** The lines to quote for each verified claim; if it moved, its paragraph moved with it. */
function rangesOf(found: readonly Found[], verdicts: readonly Verdict[]): { path: string; from: number; to: number }[] {
  return found.flatMap(({ path, line, to }, at) => {
    const verdict = verdicts[at];
    return verdict?.verified === true ? [{ path, from: verdict.line, to: verdict.line + to - line }] : [];
  });
}

/** Only a claim that the checker verified and whose paragraph could then be read is evidence. */
function sectionsOf(found: readonly Found[], verdicts: readonly Verdict[], read: readonly Answered[]): Section[] {
  const paragraphs = new Map<string, string>();
  for (const { args, result, isError } of read) {
    const range = Range.safeParse(args);
    if (range.success && !isError) paragraphs.set(positionOf({ path: range.data.path, line: range.data.from }), result);
  }
  const sections = new Map<string, Evidence[]>();
  found.forEach(({ section, text, path }, at) => {
    const verdict = verdicts[at];
    const paragraph = verdict?.verified === true ? paragraphs.get(positionOf({ path, line: verdict.line })) : undefined;
    if (verdict === undefined || !paragraph?.includes(text)) return;
    const evidence = { paragraph, claim: text, path, line: verdict.line };
    sections.set(section, [...(sections.get(section) ?? []), evidence]);
  });
  return [...sections].map(([title, evidence]) => ({ title, evidence }));
}

function resultNotes(
  question: string,
  facets: readonly string[],
  sections: readonly Section[],
  unchecked: readonly Found[],
): string[] {
  const words = tellingWordsOf(question).join(', ');
  const empty = facets.filter((facet) => !sections.some(({ title }) => title === facet));
  if (unchecked.length > 0) return [`Found, but not checked: ${unchecked.map(named).join(', ')}`];
  if (sections.length > 0) return empty.length === 0 ? [] : [`No evidence for: ${empty.join(' · ')}`];
  return [`nothing found: no paragraph has enough of the question's words${words === '' ? '' : ` (${words})`}.`];
}

function failureNotes(answered: readonly Answered[], verdicts: readonly Verdict[]): string[] {
  const failed = answered.filter(({ isError }) => isError);
  const gone = verdicts.filter(({ verified }) => !verified);
  return [
    ...(failed.length === 0 ? [] : ['The search is not complete.']),
    ...failed.map(({ name, result }) => `${name} did not complete: ${(result.split('\n')[0] ?? '').slice(0, 200)}`),
    ...(gone.length === 0
      ? []
      : [`Left out, since the file does not contain these words: ${gone.map(named).join(', ')}`]),
  ];
}

/** The supervisor's notes of earlier questions, if its memory has some about this one. */
function recalled(answered: readonly Answered[]): string[] {
  const search = answered.find(({ name }) => name === 'memory_search');
  const notes = Notes.safeParse(parsed(search?.result ?? ''));
  return notes.success ? notes.data.hits.map(({ text }) => `Noted before: ${text}`) : [];
}

interface Position {
  readonly path: string;
  readonly line: number;
}

function positionOf({ path, line }: Position): string {
  return `${path}:${line}`;
}

/** Not `path:line`: that form is used only for verified claims. */
function named({ path, line }: Position): string {
  return `${path} line ${line}`;
}
