/** Read receipts: sent by socket, otherwise by REST; while neither works, the latest of each conversation waits. */

import { Alarm, type Clock } from "./clock.js";
import { Unreachable, WaypostError } from "./errors.js";
import { reconnectDelay } from "./reconnect.js";
import type { Transports } from "./post.js";
import type { Timings } from "./timing.js";

export interface ReadReceiptsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
  readonly transports: () => Transports;
  readonly post: (conversation_id: string, message_id: string) => Promise<void>;
}

export class ReadReceipts {
  readonly #options: ReadReceiptsOptions;
  readonly #alarm: Alarm;
  readonly #latest = new Map<string, string>();
  #posting = false;
  #failures = 0;

  constructor(options: ReadReceiptsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  read(conversation_id: string, message_id: string): void {
    this.#latest.set(conversation_id, message_id);
    this.wake();
  }

  wake(): void {
    const { socket } = this.#options.transports();
    if (socket === null) return void this.#post();
    for (const [conversation_id, message_id] of this.#latest)
      socket.send({ type: "read", conversation_id, message_id });
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
    const done = await this.#isDone(...first);
    this.#posting = false;
    if (done && this.#latest.get(first[0]) === first[1]) this.#latest.delete(first[0]);
    this.#failures = done ? 0 : this.#failures + 1;
    if (done) this.wake();
    else this.#scheduleRetry();
  }

  async #isDone(conversation_id: string, message_id: string): Promise<boolean> {
    try {
      await this.#options.post(conversation_id, message_id);
    } catch (error) {
      if (!(error instanceof WaypostError)) throw error;
      return !(error instanceof Unreachable); // a refused receipt is not retried
    }
    return true;
  }

  #scheduleRetry(): void {
    if (this.#latest.size === 0) return;
    const { random, timings } = this.#options;
    this.#alarm.set(reconnectDelay(this.#failures - 1, random(), timings), () => this.wake());
  }
}
