/** One socket from its opening to its end: hello, frames in, heartbeat, and one report of how it ended. */

import { Alarm, type Clock } from "./clock.js";
import { parseFrame, type ClientFrame, type ServerFrame } from "./protocol.js";
import type { Timings } from "./timings.js";

/** What the client uses of a WebSocket: a browser's, Node's own, or that of a package. */
export interface SocketLike {
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  send(data: string): void;
  close(code?: number): void;
  /** Where it exists: ends it without waiting for the other side. */
  terminate?(): void;
}

export type SocketConstructor = new (url: string) => SocketLike;

export interface LinkEvents {
  frame(frame: ServerFrame): void;
  /** Once, and last. */
  ended(code: number): void;
}

export interface LinkOptions {
  readonly url: string;
  readonly Socket: SocketConstructor;
  readonly hello: () => ClientFrame;
  readonly clock: Clock;
  readonly timings: Timings;
}

/** What a browser reports of a connection that broke without a word. */
const BROKEN = 1006;

export class Link {
  readonly #options: LinkOptions;
  readonly #events: LinkEvents;
  readonly #alarm: Alarm;
  #socket: SocketLike | null = null;
  #heard = false;
  #silentBeats = 0;
  #welcomed = false;

  constructor(options: LinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#alarm = new Alarm(options.clock);
  }

  /** Whether it ever came to its `welcome`. */
  get wasWelcomed(): boolean {
    return this.#welcomed;
  }

  get isOpen(): boolean {
    return this.#welcomed && this.#socket !== null;
  }

  open(): void {
    const { url, Socket, timings } = this.#options;
    this.#alarm.set(timings.open_timeout, () => this.drop());
    try {
      this.#socket = new Socket(url);
    } catch {
      this.#alarm.set(0, () => this.#end(BROKEN)); // as any other failure, after open() returned
      return;
    }
    this.#socket.onopen = () => this.#greet();
    this.#socket.onmessage = ({ data }: { data: unknown }) => this.#hear(data);
    this.#socket.onerror = () => undefined; // `close` follows and says all there is
    this.#socket.onclose = ({ code }: { code: number }) => this.#end(code);
  }

  send(frame: ClientFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  /** Left behind as broken: whatever it still says is not heard. */
  drop(): void {
    this.#leave((socket) => (socket.terminate === undefined ? socket.close() : socket.terminate()));
    this.#events.ended(BROKEN);
  }

  /** Left in good order; nothing is reported. */
  close(): void {
    this.#leave((socket) => socket.close(1000));
  }

  #greet(): void {
    const { hello, timings } = this.#options;
    this.#alarm.set(timings.open_timeout, () => this.drop());
    this.send(hello());
  }

  #hear(data: unknown): void {
    this.#heard = true;
    const frame = parseFrame(data);
    if (frame === null || (!this.#welcomed && frame.type !== "welcome")) return;
    if (frame.type === "welcome") {
      if (this.#welcomed) return; // it came twice
      this.#welcomed = true;
      this.send({ type: "ping" });
      this.#beat(this.#options.timings.heartbeat ?? frame.heartbeat_ms);
    }
    this.#events.frame(frame);
  }

  /** Counted in beats, not in time: a tab in the background is woken too rarely to measure. */
  #beat(every: number): void {
    this.#alarm.set(every, () => {
      this.#silentBeats = this.#heard ? 0 : this.#silentBeats + 1;
      this.#heard = false;
      if (this.#silentBeats >= 2) return this.drop();
      this.send({ type: "ping" });
      this.#beat(every);
    });
  }

  #end(code: number): void {
    this.#alarm.clear();
    this.#forget();
    this.#events.ended(code);
  }

  #leave(how: (socket: SocketLike) => void): void {
    const socket = this.#socket;
    this.#alarm.clear();
    this.#forget();
    if (socket !== null) how(socket);
  }

  #forget(): void {
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.onerror = () => undefined; // a package's socket throws what nobody listens to
  }
}
