import type { ServerResponse } from 'node:http';
import type { EventLog } from './event-log.ts';
import { SECURITY_HEADERS } from './send-json.ts';

/** Milliseconds between keep-alive comments, and after which a client that reads nothing is disconnected; it may reconnect. */
const BEAT_MS = 15_000;
const STALL_MS = 30_000;

interface Stream {
  /** Since when the client has read nothing. */
  stalled: number | undefined;
  readonly response: ServerResponse;
}

/** The open streams of a server, with one timer for all. */
export class EventStreams {
  readonly #open = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;

  get count(): number {
    return this.#open.size;
  }

  /**
   * Sends the events after a position, as they come, until the log ends or the client disconnects; then `onClose` is called.
   * Nothing is queued for a client that reads slowly: only its position is stored.
   */
  send(
    response: ServerResponse,
    log: EventLog,
    from: number,
    headers: { readonly [name: string]: string },
    onClose: () => void,
  ): void {
    response.writeHead(200, {
      ...SECURITY_HEADERS,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    });
    response.socket?.setNoDelay(true);
    response.write('retry: 2000\n\n');
    const stream: Stream = { stalled: undefined, response };
    let position = from;
    const pump = () => {
      while (stream.stalled === undefined && !response.destroyed) {
        const chunk = log.after(position);
        if (chunk === undefined) {
          if (log.isEnded) response.end();
          return;
        }
        position = chunk.position;
        if (!response.write(chunk.bytes)) stream.stalled = performance.now();
      }
    };
    response.on('drain', () => {
      stream.stalled = undefined;
      pump();
    });
    const unwatch = log.watch(pump);
    response.once('close', () => {
      unwatch();
      this.#leave(stream);
      onClose();
    });
    this.#enter(stream);
    pump();
  }

  #enter(stream: Stream): void {
    this.#open.add(stream);
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  #leave(stream: Stream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    const now = performance.now();
    for (const { response, stalled } of this.#open) {
      if (stalled === undefined) response.write(': \n\n');
      else if (now - stalled > STALL_MS) response.destroy();
    }
  }

  /** Disconnects all clients. */
  close(): void {
    for (const { response } of this.#open) response.destroy();
  }
}
