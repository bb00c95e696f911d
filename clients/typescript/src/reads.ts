/** What was read, on its way to the server: by the socket, else by REST, else the latest of each conversation waits. */

import { Alarm, type Clock } from "./clock.js";
import { Unreachable, WaypostError } from "./errors.js";
import { pause } from "./returning.js";
import type { Ways } from "./sender.js";
import type { Timings } from "./timings.js";

export interface ReadsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
  readonly ways: () => Ways;
  readonly post: (conversation_id: string, message_id: string) => Promise<void>;
}

export class Reads {
  readonly #options: ReadsOptions;
  readonly #alarm: Alarm;
  readonly #latest = new Map<string, string>();
  #posting = false;
  #failures = 0;

  constructor(options: ReadsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  read(conversation_id: string, message_id: string): void {
    this.#latest.set(conversation_id, message_id);
    this.wake();
  }

  wake(): void {
    const { link } = this.#options.ways();
    if (link === null) return void this.#post();
    for (const [conversation_id, message_id] of this.#latest) link.send({ type: "read", conversation_id, message_id });
    this.#latest.clear();
  }

  stop(): void {
    this.#alarm.clear();
    this.#latest.clear();
  }

  async #post(): Promise<void> {
    const [first] = this.#latest;
    if (first === undefined || this.#posting || this.#alarm.isSet) return;
    this.#posting = true;
    const done = await this.#settled(...first);
    this.#posting = false;
    if (done && this.#latest.get(first[0]) === first[1]) this.#latest.delete(first[0]);
    this.#failures = done ? 0 : this.#failures + 1;
    if (done) this.wake();
    else this.#waitAwhile();
  }

  async #settled(conversation_id: string, message_id: string): Promise<boolean> {
    try {
      await this.#options.post(conversation_id, message_id);
    } catch (error) {
      if (!(error instanceof WaypostError)) throw error;
      return !(error instanceof Unreachable); // what is refused is not asked again
    }
    return true;
  }

  #waitAwhile(): void {
    if (this.#latest.size === 0) return;
    const { random, timings } = this.#options;
    this.#alarm.set(pause(this.#failures - 1, random(), timings), () => this.wake());
  }
}
