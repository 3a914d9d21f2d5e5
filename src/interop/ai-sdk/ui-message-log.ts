import type { RunEvent } from '../../core/contract/event.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import { UiChunks, type UiRunChunk } from './ui-chunks.ts';

/** Characters of text that are joined into one chunk for a reader that connects late or reads slowly. */
const JOINED = 16_384;

/** The message of one run as it grows, for any number of readers: each gets it from the start, at its own pace. */
export class UiMessageLog {
  readonly #chunks: UiRunChunk[] = [];
  #waiting: (() => void)[] = [];
  #isOver = false;
  #readers = 0;

  constructor(run: Run, calls: boolean) {
    const { path } = run.tree();
    // Subscribes in this tick, so that no event of a run that just starts is missed.
    const events = run[Symbol.asyncIterator]();
    this.#follow(run, events, new UiChunks(run.id, path, calls)).finally(() => {
      this.#isOver = true;
      this.#wake();
    });
  }

  async #follow(run: Run, events: AsyncIterator<RunEvent>, chunks: UiChunks): Promise<void> {
    this.#add(chunks.begin());
    for (let next = await events.next(); !next.done; next = await events.next()) this.#add(chunks.after(next.value));
    if (chunks.isOver) return;
    // The run was over before this log subscribed.
    try {
      const result = await run.result;
      this.#add(chunks.end('error' in result ? result : { ...result, error: undefined }));
    } catch {
      const error = { kind: 'failed', message: 'the run failed', retryable: false };
      this.#add(chunks.end({ status: 'failed', text: '', error, usage: run.tree().usage }));
    }
  }

  #add(chunks: readonly UiRunChunk[]): void {
    if (chunks.length === 0) return;
    this.#chunks.push(...chunks);
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** @param onDisconnect called when the last reader has disconnected before the end. */
  stream(onDisconnect: () => void): ReadableStream<UiRunChunk> {
    let at = 0;
    let isOpen = true;
    this.#readers += 1;
    return new ReadableStream<UiRunChunk>({
      pull: async (controller) => {
        while (isOpen && at === this.#chunks.length && !this.#isOver)
          await new Promise<void>((resolve) => this.#waiting.push(resolve));
        if (!isOpen) return;
        const [chunk, next] = this.#read(at);
        at = next;
        if (chunk !== undefined) return controller.enqueue(chunk);
        isOpen = false;
        this.#readers -= 1;
        controller.close();
      },
      cancel: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#readers -= 1;
        this.#wake();
        if (this.#readers === 0 && !this.#isOver) onDisconnect();
      },
    });
  }

  /** The chunk at an index and the next index. Pieces of text that have accumulated are joined into one chunk. */
  #read(at: number): [chunk: UiRunChunk | undefined, next: number] {
    const chunk = this.#chunks[at];
    if (chunk?.type !== 'text-delta') return [chunk, at + 1];
    let { delta } = chunk;
    let next = at + 1;
    for (; delta.length < JOINED; next += 1) {
      const more = this.#chunks[next];
      if (more?.type !== 'text-delta' || more.id !== chunk.id) break;
      delta += more.delta;
    }
    return [{ ...chunk, delta }, next];
  }
}
