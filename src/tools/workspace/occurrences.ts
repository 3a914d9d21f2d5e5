/** Up to this length the engine's own search is used: its worst case is the product of both lengths. */
const SHORT = 64;

/**
 * Where a text stands in another one, without overlaps. Linear in both lengths whatever they hold (Knuth, Morris, Pratt 1977): a model
 * chooses both, and the engine's search takes minutes for a crafted pair of a megabyte each.
 */
export function* occurrences(text: string, find: string): Generator<number> {
  if (find.length > SHORT) {
    yield* crafted(text, find);
    return;
  }
  for (let at = text.indexOf(find); at !== -1; at = text.indexOf(find, at + find.length)) yield at;
}

/** Whether a text holds another one. */
export function holds(text: string, find: string): boolean {
  return occurrences(text, find).next().done !== true;
}

function* crafted(text: string, find: string): Generator<number> {
  if (find.length > text.length) return;
  const borders = bordersOf(find);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && find.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (find.charCodeAt(matched) === code) matched += 1;
    if (matched < find.length) continue;
    yield at + 1 - find.length;
    matched = 0;
  }
}

/** Of each beginning of a text the length of its longest proper beginning that is its end too. */
function bordersOf(find: string): Int32Array {
  const borders = new Int32Array(find.length);
  let length = 0;
  for (let at = 1; at < find.length; at += 1) {
    const code = find.charCodeAt(at);
    while (length > 0 && find.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
    if (find.charCodeAt(length) === code) length += 1;
    borders[at] = length;
  }
  return borders;
}
