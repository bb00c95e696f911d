/** Keeps a connection to the server open until stopped: a WebSocket, or long polling where no socket opens. */

import { Alarm, type Clock } from "./clock.js";
import { Unreachable, WaypostError } from "./errors.js";
import { WebSocketConnection, type WebSocketOptions } from "./websocket.js";
import type { ServerFrame, SyncResponse } from "./types.js";
import { afterClose, backoff, reconnectDelay } from "./reconnect.js";
import type { Transports } from "./post.js";
import { nextState, type ConnectionEvent, type State } from "./connection_state.js";
import type { Timings } from "./timing.js";

export interface ConnectionEvents {
  /** Every state change; `code` is the reason for stopping (0: requested by the application). */
  state(state: State, code: number): void;
  frame(frame: ServerFrame): void;
}

export interface ConnectionOptions {
  readonly socket: WebSocketOptions;
  /** Sends one sync request and applies the items before it returns. */
  readonly sync: (waitMs: number, signal: AbortSignal) => Promise<SyncResponse>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
}

export class ConnectionLoop {
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  readonly #alarm: Alarm;
  #state: State = "waiting";
  #code = 0;
  /** The current socket, or the one being opened. */
  #socket: WebSocketConnection | null = null;
  #request: AbortController | null = null;
  #failures = 0;
  #upgradeAttempts = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.#alarm = new Alarm(options.clock);
  }

  get state(): State {
    return this.#state;
  }

  get transports(): Transports {
    return { socket: this.#socket?.isOpen === true ? this.#socket : null, polling: this.#state === "polling" };
  }

  /** Also cuts a reconnect delay short. */
  start(): void {
    if (this.#state === "waiting") this.#attempt();
  }

  /** Final. */
  stop(code: number): void {
    this.#alarm.clear();
    this.#request?.abort();
    this.#socket?.close();
    this.#socket = null;
    this.#code = code;
    this.#transition("stop");
  }

  #attempt(): void {
    this.#alarm.clear();
    this.#transition("attempt");
    this.#open();
  }

  #open(): void {
    const socket: WebSocketConnection = new WebSocketConnection(this.#options.socket, {
      frame: (frame) => this.#onFrame(socket, frame),
      ended: (code) => this.#onEnd(socket, code),
    });
    this.#socket = socket;
    socket.open();
  }

  #onFrame(socket: WebSocketConnection, frame: ServerFrame): void {
    if (socket !== this.#socket) return;
    if (frame.type === "welcome") {
      this.#alarm.clear();
      this.#request?.abort();
    }
    if (frame.type === "live") this.#failures = 0;
    this.#events.frame(frame);
    if (frame.type === "welcome" || frame.type === "live") this.#transition(frame.type);
  }

  #onEnd(socket: WebSocketConnection, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    const decision = afterClose(code);
    if ("stop" in decision) return this.stop(decision.stop);
    if (this.#state === "polling") return this.#scheduleUpgrade();
    if (!socket.wasWelcomed && code < 4_000) return void this.#fallBackToPolling();
    if (decision.come_back === "backoff") return this.#failed();
    this.#pause(this.#options.timings.going_away * this.#options.random());
  }

  #failed(): void {
    this.#pause(reconnectDelay(this.#failures, this.#options.random(), this.#options.timings));
    this.#failures += 1;
  }

  #pause(ms: number): void {
    this.#socket?.close();
    this.#socket = null;
    this.#alarm.set(ms, () => this.#attempt());
    this.#transition("lost");
  }

  /** No socket received a `welcome`: check whether plain HTTP works. */
  async #fallBackToPolling(): Promise<void> {
    if (!(await this.#sync(0))) return;
    this.#upgradeAttempts = 0;
    this.#transition("answered");
    this.#scheduleUpgrade();
    await this.#poll();
  }

  async #poll(): Promise<void> {
    const { clock, random, timings } = this.#options;
    while (this.#state === "polling") {
      const startedAt = clock.now();
      const response = await this.#sync(timings.poll_wait);
      if (response === null) return;
      const isEmptyPoll = response.items.length === 0 && clock.now() - startedAt < timings.poll_wait / 10;
      if (isEmptyPoll) await this.#sleep(reconnectDelay(0, random(), timings)); // the poll was not held
    }
  }

  /** The response, or null if the request was aborted or failed. */
  async #sync(waitMs: number): Promise<SyncResponse | null> {
    const request = new AbortController();
    this.#request = request;
    try {
      const response = await this.#options.sync(waitMs, request.signal);
      if (request.signal.aborted) return null;
      this.#failures = 0;
      return response;
    } catch (error) {
      if (!(error instanceof WaypostError)) throw error;
      if (!request.signal.aborted) this.#refused(error);
      return null;
    }
  }

  #refused(error: WaypostError): void {
    if (error.status === 401 || error.status === 403) return this.stop(4_000 + error.status);
    if (error instanceof Unreachable && error.retryAfterMs > 0) return this.#pause(error.retryAfterMs);
    this.#failed();
  }

  /** While polling, retry the WebSocket upgrade from time to time. */
  #scheduleUpgrade(): void {
    const { random, timings } = this.#options;
    const delay = backoff(this.#upgradeAttempts, random(), timings.upgrade_base, timings.upgrade_cap);
    this.#alarm.set(delay, () => this.#open());
    this.#upgradeAttempts += 1;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve));
  }

  #transition(event: ConnectionEvent): void {
    const state = nextState(this.#state, event);
    if (state === this.#state) return;
    this.#state = state;
    this.#events.state(state, this.#code);
  }
}
