/** Keeps a way to the server open until it is stopped: a socket, or the long poll where none is possible. */

import { Alarm, type Clock } from "./clock.js";
import { Unreachable, WaypostError } from "./errors.js";
import { Link, type LinkOptions } from "./link.js";
import type { ServerFrame, Synced } from "./protocol.js";
import { afterClose, jittered, pause } from "./returning.js";
import type { Ways } from "./sender.js";
import { next, type Happening, type State } from "./states.js";
import type { Timings } from "./timings.js";

export interface ConnectionEvents {
  /** Each change; with the code that stopped it (0: asked to). */
  state(state: State, code: number): void;
  frame(frame: ServerFrame): void;
}

export interface ConnectionOptions {
  readonly link: LinkOptions;
  /** Asks once, and has what came applied before it returns. */
  readonly sync: (waitMs: number, signal: AbortSignal) => Promise<Synced>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  readonly #alarm: Alarm;
  #state: State = "waiting";
  #code = 0;
  /** The socket in use, or the one that is being tried. */
  #link: Link | null = null;
  #asking: AbortController | null = null;
  #failures = 0;
  #tries = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.#alarm = new Alarm(options.clock);
  }

  get state(): State {
    return this.#state;
  }

  get ways(): Ways {
    return { link: this.#link?.isOpen === true ? this.#link : null, polling: this.#state === "polling" };
  }

  /** Also in the middle of a pause: somebody knows that the line is back. */
  start(): void {
    if (this.#state === "waiting") this.#attempt();
  }

  /** Final. */
  stop(code: number): void {
    this.#alarm.clear();
    this.#asking?.abort();
    this.#link?.close();
    this.#link = null;
    this.#code = code;
    this.#go("stop");
  }

  #attempt(): void {
    this.#alarm.clear();
    this.#go("attempt");
    this.#open();
  }

  #open(): void {
    const link: Link = new Link(this.#options.link, {
      frame: (frame) => this.#hear(link, frame),
      ended: (code) => this.#ended(link, code),
    });
    this.#link = link;
    link.open();
  }

  #hear(link: Link, frame: ServerFrame): void {
    if (link !== this.#link) return;
    if (frame.type === "welcome") {
      this.#alarm.clear();
      this.#asking?.abort();
    }
    if (frame.type === "live") this.#failures = 0;
    this.#events.frame(frame);
    if (frame.type === "welcome" || frame.type === "live") this.#go(frame.type);
  }

  #ended(link: Link, code: number): void {
    if (link !== this.#link) return;
    this.#link = null;
    const verdict = afterClose(code);
    if ("stop" in verdict) return this.stop(verdict.stop);
    if (this.#state === "polling") return this.#tryAgainLater();
    if (!link.wasWelcomed && code < 4_000) return void this.#ask();
    if (verdict.come_back === "backoff") return this.#failed();
    this.#pause(this.#options.timings.going_away * this.#options.random());
  }

  #failed(): void {
    this.#pause(pause(this.#failures, this.#options.random(), this.#options.timings));
    this.#failures += 1;
  }

  #pause(ms: number): void {
    this.#link?.close();
    this.#link = null;
    this.#alarm.set(ms, () => this.#attempt());
    this.#go("lost");
  }

  /** No socket came to its `welcome`: is it only sockets that do not pass here? */
  async #ask(): Promise<void> {
    if (!(await this.#sync(0))) return;
    this.#tries = 0;
    this.#go("answered");
    this.#tryAgainLater();
    await this.#poll();
  }

  async #poll(): Promise<void> {
    const { clock, random, timings } = this.#options;
    while (this.#state === "polling") {
      const asked = clock.now();
      const answer = await this.#sync(timings.poll_wait);
      if (answer === null) return;
      const inVain = answer.items.length === 0 && clock.now() - asked < timings.poll_wait / 10;
      if (inVain) await this.#sleep(pause(0, random(), timings)); // somebody on the way does not wait
    }
  }

  /** The answer, or null when something else goes on by now. */
  async #sync(waitMs: number): Promise<Synced | null> {
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const answer = await this.#options.sync(waitMs, asking.signal);
      if (asking.signal.aborted) return null;
      this.#failures = 0;
      return answer;
    } catch (error) {
      if (!(error instanceof WaypostError)) throw error;
      if (!asking.signal.aborted) this.#refused(error);
      return null;
    }
  }

  #refused(error: WaypostError): void {
    if (error.status === 401 || error.status === 403) return this.stop(4_000 + error.status);
    if (error instanceof Unreachable && error.retryAfterMs > 0) return this.#pause(error.retryAfterMs);
    this.#failed();
  }

  /** Beside the long poll, from time to time: does a socket pass by now? */
  #tryAgainLater(): void {
    const { random, timings } = this.#options;
    this.#alarm.set(jittered(this.#tries, random(), timings.upgrade_base, timings.upgrade_cap), () => this.#open());
    this.#tries += 1;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve));
  }

  #go(happening: Happening): void {
    const state = next(this.#state, happening);
    if (state === this.#state) return;
    this.#state = state;
    this.#events.state(state, this.#code);
  }
}
