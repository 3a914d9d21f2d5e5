/** Both outputs of a command as text, up to `maxChars` characters together. */
export class Output {
  readonly #texts = { stdout: '', stderr: '' };
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #remaining: number;
  /** The output that reached the limit. */
  truncated: 'stdout' | 'stderr' | undefined;

  constructor(maxChars: number) {
    this.#remaining = maxChars;
  }

  /** False once the limit is passed. Bytes that are no UTF-8 are shown as U+FFFD; a character may come in two pieces. */
  add(stream: 'stdout' | 'stderr', bytes: Uint8Array): boolean {
    if (this.truncated !== undefined) return false;
    const text = this.#decoders[stream].decode(bytes, { stream: true });
    this.#append(stream, text);
    return this.truncated === undefined;
  }

  /** The texts up to the limit, whole characters only. */
  end(): { readonly stdout: string; readonly stderr: string } {
    // A truncated output takes no further text.
    if (this.truncated === undefined)
      for (const stream of STREAMS) this.#append(stream, this.#decoders[stream].decode());
    return { ...this.#texts };
  }

  #append(stream: 'stdout' | 'stderr', text: string): void {
    if (text.length > this.#remaining) this.truncated = stream;
    const front = text.length > this.#remaining ? wholeCodePoints(text, this.#remaining) : text;
    this.#remaining -= front.length;
    this.#texts[stream] += front;
  }
}

const STREAMS = ['stdout', 'stderr'] as const;

function wholeCodePoints(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
