/** A glob: `*` stops at `/`, `**` does not, `**` + `/` at the start of a part is any number of folders, also none. */
export interface Glob {
  readonly text: string;
  /** Whether anything may follow the prefix: `out/**`. */
  readonly isOpen: boolean;
  /** The longest text that every match contains. */
  readonly needs: string;
  /** Read once, when they are first needed. */
  readonly tokens: () => readonly Token[];
  /** The prefix of every match; compared first, so that most globs of a long list cost nothing. */
  readonly prefix: string;
}

type Token = string | typeof STAR | typeof GLOBSTAR | typeof FOLDERS;
const STAR = 0;
const GLOBSTAR = 1;
const FOLDERS = 2;

/** Reads a glob. Every character but `*` is literal; the caller normalises case and Unicode form. */
export function readGlob(text: string): Glob {
  const star = text.indexOf('*');
  const prefix = star === -1 ? text : text.slice(0, star);
  let tokens: readonly Token[] | undefined;
  return {
    text,
    prefix,
    needs: neededIn(text),
    isOpen: star !== -1 && /^\*{2,}$/.test(text.slice(star)),
    tokens() {
      tokens ??= tokensOf(text);
      return tokens;
    },
  };
}

/** The texts between stars; the `/` of a `**` + `/` may be absent. */
function neededIn(text: string): string {
  const pieces = text.split(/\*+/).map((piece, index) => (index > 0 && piece.startsWith('/') ? piece.slice(1) : piece));
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), '');
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] !== '*') {
      tokens.push(text[at++] as string);
      continue;
    }
    let end = at;
    while (text[end] === '*') end++;
    const startsPart = at === 0 || text[at - 1] === '/';
    if (end - at === 1) tokens.push(STAR);
    else if (startsPart && text[end] === '/') tokens.push(FOLDERS);
    else tokens.push(GLOBSTAR);
    at = tokens.at(-1) === FOLDERS ? end + 1 : end;
  }
  return tokens;
}

/**
 * Whether a value matches a glob; a lone `*` matches any. Simulates all states at once (Thompson 1968) without backtracking, so the time is
 * at most the product of both lengths.
 */
export function matchGlob(glob: string | Glob, value: string): boolean {
  const read = typeof glob === 'string' ? readGlob(glob) : glob;
  const { prefix, text } = read;
  if (!value.startsWith(prefix)) return false;
  if (prefix.length === text.length) return prefix.length === value.length;
  if (read.isOpen || text === '*') return true;
  if (!value.includes(read.needs)) return false;
  const tokens = read.tokens();
  let states = new Uint8Array(tokens.length + 1);
  let next = new Uint8Array(tokens.length + 1);
  enter(states, tokens, prefix.length);
  for (let at = prefix.length; at < value.length; at++) {
    const char = value[at] as string;
    next.fill(0);
    let alive = false;
    for (let index = prefix.length; index < tokens.length; index++) {
      if (states[index] === 0) continue;
      const token = tokens[index];
      if (typeof token === 'string') {
        if (token === char) enter(next, tokens, index + 1);
        else continue;
      } else if (token === FOLDERS) {
        // Entered at the start of a part, left at the start of another one.
        next[index] = INSIDE;
        if (char === '/') enter(next, tokens, index + 1);
      } else if (token === GLOBSTAR || char !== '/') {
        enter(next, tokens, index);
      } else {
        continue;
      }
      alive = true;
    }
    if (!alive) return false;
    [states, next] = [next, states];
  }
  return states[tokens.length] === 1;
}

/** A state of {@link FOLDERS} that has begun to take letters, and so cannot be left without a `/`. */
const INSIDE = 2;

/** Enters a state and those that lie behind stars which take nothing. */
function enter(states: Uint8Array, tokens: readonly Token[], start: number): void {
  for (let index = start; ; index++) {
    states[index] = 1;
    if (typeof tokens[index] !== 'number') return;
  }
}
