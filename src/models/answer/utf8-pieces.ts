/** One for all: an answer's own would leave something to collect that is not JavaScript's. It decodes whole pieces only. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decodes UTF-8 in arbitrary pieces. */
export class Utf8Pieces {
  /** The beginning of a character. */
  #begun: Uint8Array | undefined;

  push(piece: Uint8Array): string {
    const bytes = this.#begun === undefined ? piece : joined(this.#begun, piece);
    const end = wholeLength(bytes);
    this.#begun = end === bytes.length ? undefined : bytes.slice(end);
    return UTF8.decode(this.#begun === undefined ? bytes : bytes.subarray(0, end));
  }

  /** The replacement of an incomplete character. */
  end(): string {
    return this.#begun === undefined ? '' : UTF8.decode(this.#begun);
  }
}

function joined(start: Uint8Array, end: Uint8Array): Uint8Array {
  const all = new Uint8Array(start.length + end.length);
  all.set(start);
  all.set(end, start.length);
  return all;
}

/** The length without an incomplete last character. */
function wholeLength(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= 3 && back <= length; back += 1) {
    const byte = bytes[length - back] ?? 0;
    if (byte < 0x80) return length;
    if (byte < 0xc0) continue;
    const size = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return size > back ? length - back : length;
  }
  return length;
}
