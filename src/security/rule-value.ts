/**
 * Values as rules see them. Deny and ask rules look at every reading of a value that some system could give it, and one match is
 * enough; allow rules look at the plain readings, and all must match. So doubt never helps a call.
 */
export interface RuleValue {
  /** NFC, path resolved. Undefined if the value is no text, leaves the folder upwards, or has invisible characters. */
  readonly strict: readonly string[] | undefined;
  /** NFKC, case folded, invisible characters left out. */
  readonly folded: readonly string[];
  /** The first character that cannot be seen, as `U+00AD`. */
  readonly invisible: string | undefined;
}

const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2028\u2029]/u;
const ALL_INVISIBLE = new RegExp(INVISIBLE, 'gu');

/** Signs that mean one thing everywhere. */
const PLAIN = /^[\w./-]+$/;
/** An empty part or one that begins or ends with a dot: these are resolved, or some systems drop the dot. */
const NOT_RESOLVED = /(?:^|\/)(?:\.{0,2})(?:\/|$)|\.(?:\/|$)/;

/** Readings of one argument. A list counts as all of its items: allowed where each is, denied where one is. */
export function readRuleValue(value: unknown): RuleValue {
  // Most values are plain paths, which have one reading.
  if (typeof value === 'string' && PLAIN.test(value) && !NOT_RESOLVED.test(value)) {
    return { strict: [value], folded: [value.toLowerCase()], invisible: undefined };
  }
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  const known = texts.filter((text) => text !== undefined);
  const strict = known.flatMap(strictForms);
  const isPlain = known.length > 0 && known.length === texts.length && strict.every((form) => !escapes(form));
  const unseen = known.map(invisibleIn).find((found) => found !== undefined);
  const hasControl = known.some((text) => INVISIBLE.test(text));
  return {
    strict: isPlain && !hasControl ? strict : undefined,
    folded: known.flatMap(foldedForms),
    invisible: unseen,
  };
}

/** The first invisible character of a text; tabs and line breaks do not count. */
function invisibleIn(text: string): string | undefined {
  for (const [char] of text.matchAll(ALL_INVISIBLE)) {
    if (char !== '\n' && char !== '\r' && char !== '\t') {
      return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
    }
  }
  return undefined;
}

/** Whether a text has any control or invisible character, line breaks included. */
export function hasControl(text: string): boolean {
  return !/^[ -~]*$/.test(text) && INVISIBLE.test(text);
}

/** NFKC and case folding, for deny and ask. Up and down again, since lower case alone keeps ß and the long s apart. */
export function fold(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/** Resolves `.`, `..`, `//` and a last `/`; backslashes are slashes. `..` that leads above the start stays in front. */
export function normalisePath(text: string): string {
  const slashed = text.includes('\\') ? text.replaceAll('\\', '/') : text;
  // Most values need nothing: every `.` or empty part follows a slash or the start.
  if (!/(?:^|\/)(?:\.{0,2})(?:\/|$)/.test(slashed)) return slashed;
  const root = slashed.startsWith('/') ? '/' : '';
  const parts: string[] = [];
  for (const part of slashed.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || root === '') parts.push(part);
  }
  return root + parts.join('/') || '.';
}

/** Whether a resolved path leads above its start. */
export function escapes(path: string): boolean {
  return path === '..' || path.startsWith('../');
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function strictForms(text: string): string[] {
  const plain = normalisePath(text.normalize('NFC'));
  const url = urlOf(text);
  return url === undefined ? [plain] : [plain, normalisePath(url)];
}

function foldedForms(text: string): string[] {
  const seen = text.replace(ALL_INVISIBLE, '');
  const forms = new Set<string>();
  for (const reading of [seen, urlOf(seen), decoded(seen)]) {
    if (reading === undefined) continue;
    // Folding can make dots and slashes of other signs, so a path is resolved after it as well as before.
    forms.add(normalisePath(fold(reading)));
    forms.add(fold(normalisePath(reading)));
  }
  // Some systems drop dots and blanks at the end of a name.
  for (const form of [...forms]) forms.add(form.replace(/(?<=[^./ ])[. ]+(?=\/|$)/g, ''));
  return [...forms];
}

function urlOf(text: string): string | undefined {
  return /^\s*[a-z][a-z0-9+.-]*:[/\\]/i.test(text) && URL.canParse(text) ? new URL(text).href : undefined;
}

function decoded(text: string): string | undefined {
  if (!text.includes('%')) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
