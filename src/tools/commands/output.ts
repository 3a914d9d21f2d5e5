/** Both outputs of a command as text, up to so many characters together. */
export class Output {
  readonly #texts = { stdout: '', stderr: '' };
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #left: number;
  /** Which of them came to the limit. */
  cut: 'stdout' | 'stderr' | undefined;

  constructor(maxChars: number) {
    this.#left = maxChars;
  }

  /** False once the limit is passed. Bytes that are no UTF-8 are shown as U+FFFD; a character may come in two pieces. */
  add(stream: 'stdout' | 'stderr', bytes: Uint8Array): boolean {
    if (this.cut !== undefined) return false;
    const text = this.#decoders[stream].decode(bytes, { stream: true });
    this.#keep(stream, text);
    return this.cut === undefined;
  }

  /** What was kept, whole characters only. */
  end(): { readonly stdout: string; readonly stderr: string } {
    // Where it was cut, what follows is not wanted.
    if (this.cut === undefined) for (const stream of STREAMS) this.#keep(stream, this.#decoders[stream].decode());
    return { ...this.#texts };
  }

  #keep(stream: 'stdout' | 'stderr', text: string): void {
    if (text.length > this.#left) this.cut = stream;
    const kept = text.length > this.#left ? wholeCharacters(text, this.#left) : text;
    this.#left -= kept.length;
    this.#texts[stream] += kept;
  }
}

const STREAMS = ['stdout', 'stderr'] as const;

function wholeCharacters(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
