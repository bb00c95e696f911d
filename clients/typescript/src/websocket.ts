/** One WebSocket, from opening to closing: hello, incoming frames, heartbeat, and one event when it ends. */

import { Alarm, type Clock } from "./clock.js";
import { parseFrame, type ClientFrame, type ServerFrame } from "./types.js";
import type { Timings } from "./timing.js";

/** The parts of the WebSocket API that the client uses: a browser's, Node's, or a package's. */
export interface SocketLike {
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  send(data: string): void;
  close(code?: number): void;
  /** If available: closes without waiting for the other side. */
  terminate?(): void;
}

export type SocketConstructor = new (url: string) => SocketLike;

export interface WebSocketEvents {
  frame(frame: ServerFrame): void;
  /** Called once, as the last event. */
  ended(code: number): void;
}

export interface WebSocketOptions {
  readonly url: string;
  readonly Socket: SocketConstructor;
  readonly hello: () => ClientFrame;
  readonly clock: Clock;
  readonly timings: Timings;
}

/** The code that browsers report for an abnormal closure. */
const BROKEN = 1006;

export class WebSocketConnection {
  readonly #options: WebSocketOptions;
  readonly #events: WebSocketEvents;
  readonly #alarm: Alarm;
  #socket: SocketLike | null = null;
  #received = false;
  #silentBeats = 0;
  #welcomed = false;

  constructor(options: WebSocketOptions, events: WebSocketEvents) {
    this.#options = options;
    this.#events = events;
    this.#alarm = new Alarm(options.clock);
  }

  /** Whether `welcome` was received. */
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
      this.#alarm.set(0, () => this.#end(BROKEN)); // asynchronously, like any other failure
      return;
    }
    this.#socket.onopen = () => this.#sendHello();
    this.#socket.onmessage = ({ data }: { data: unknown }) => this.#onMessage(data);
    this.#socket.onerror = () => undefined; // `close` follows
    this.#socket.onclose = ({ code }: { code: number }) => this.#end(code);
  }

  send(frame: ClientFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  /** Closes the socket as broken; later events from it are ignored. */
  drop(): void {
    this.#detach((socket) => (socket.terminate === undefined ? socket.close() : socket.terminate()));
    this.#events.ended(BROKEN);
  }

  /** Closes normally; no event follows. */
  close(): void {
    this.#detach((socket) => socket.close(1000));
  }

  #sendHello(): void {
    const { hello, timings } = this.#options;
    this.#alarm.set(timings.open_timeout, () => this.drop());
    this.send(hello());
  }

  #onMessage(data: unknown): void {
    this.#received = true;
    const frame = parseFrame(data);
    if (frame === null || (!this.#welcomed && frame.type !== "welcome")) return;
    if (frame.type === "welcome") {
      if (this.#welcomed) return; // duplicate
      this.#welcomed = true;
      this.send({ type: "ping" });
      this.#beat(this.#options.timings.heartbeat ?? frame.heartbeat_ms);
    }
    this.#events.frame(frame);
  }

  /** Counts heartbeats rather than time: timers of background tabs fire too rarely to measure. */
  #beat(every: number): void {
    this.#alarm.set(every, () => {
      this.#silentBeats = this.#received ? 0 : this.#silentBeats + 1;
      this.#received = false;
      if (this.#silentBeats >= 2) return this.drop();
      this.send({ type: "ping" });
      this.#beat(every);
    });
  }

  #end(code: number): void {
    this.#alarm.clear();
    this.#removeHandlers();
    this.#events.ended(code);
  }

  #detach(how: (socket: SocketLike) => void): void {
    const socket = this.#socket;
    this.#alarm.clear();
    this.#removeHandlers();
    if (socket !== null) how(socket);
  }

  #removeHandlers(): void {
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.onerror = () => undefined; // the `ws` package throws errors that have no handler
  }
}
