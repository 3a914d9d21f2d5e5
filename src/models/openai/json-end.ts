const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** Follows a JSON text in pieces and can tell at any time whether it may be complete, without reading it again. */
export class JsonEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #isClosed = false;

  /** True where the text ends with the bracket that closes its first one. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  push(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (this.#inString) this.#within(code);
      else if (code > SPACE) this.#between(code);
    }
  }

  #within(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#inString = false;
  }

  #between(code: number): void {
    this.#isClosed = false;
    if (code === QUOTE) this.#inString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if (code === 0x7d || code === 0x5d) {
      this.#depth -= 1;
      this.#isClosed = this.#depth === 0;
    }
  }
}
