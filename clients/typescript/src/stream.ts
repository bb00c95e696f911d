/** What the server sends as the application is given it: resets, items in order, cursors that follow what was taken. */

import { Alarm, type Clock } from "./clock.js";
import { WaypostError } from "./errors.js";
import { Feeds } from "./feeds.js";
import type { Kept } from "./kept.js";
import type { Cursors, Item, Resync, Synced, Welcome } from "./protocol.js";
import { pause } from "./returning.js";
import type { Timings } from "./timings.js";

export interface StreamOptions {
  readonly kept: Kept;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
  /** Wins over what is kept. */
  readonly epoch?: string;
  readonly apply: (item: Item) => void;
  /** Returns when the application has read everything again; rejects if it could not. */
  readonly reset: (reason: string) => Promise<unknown>;
  readonly fetch: (feeds: readonly string[]) => Promise<unknown>;
  readonly ack: (feed: string, seq: number) => void;
}

export class Stream {
  readonly #options: StreamOptions;
  readonly #feeds: Feeds;
  readonly #gaps: Alarm;
  readonly #acks: Alarm;
  readonly #again: Alarm;
  #epoch: string | null;
  #heads: Cursors = {};
  #acked: Cursors = {};
  #resets = 0;
  #resetting = false;

  constructor(options: StreamOptions) {
    const { kept, clock, timings } = options;
    this.#options = options;
    const place = kept.place();
    this.#epoch = place && (options.epoch ?? place.epoch);
    this.#feeds = new Feeds(options.apply, timings.hold, place?.cursors);
    this.#gaps = new Alarm(clock);
    this.#acks = new Alarm(clock);
    this.#again = new Alarm(clock);
  }

  /** What a hello and a sync say of this device; nothing, if it is fresh. */
  get place(): { readonly epoch: string; readonly cursors: Cursors } | null {
    return this.#epoch === null ? null : { epoch: this.#epoch, cursors: this.#feeds.cursors() };
  }

  /** Whose feeds these are, once one of them is known. */
  get user(): string | null {
    const own = Object.keys(this.#feeds.cursors()).find((feed) => feed.startsWith("user:"));
    return own?.slice("user:".length) ?? null;
  }

  welcome({ epoch, heads }: Welcome): void {
    this.#heads = heads;
    this.#acked = {};
    if (this.#epoch === null) return this.#reset(epoch, heads, "fresh");
    this.#feeds.keepOnly(heads, Object.keys(this.#feeds.cursors()));
  }

  /** What the server says to have sent is missing if it did not come. */
  live(heads: Cursors): void {
    this.#feeds.live(this.#heads, this.#now());
    this.heads(heads);
  }

  item(item: Item): void {
    this.#feeds.item(item, this.#now());
    this.#settle();
  }

  heads(heads: Cursors): void {
    this.#feeds.heads(heads, this.#now());
    this.#settle();
  }

  resync({ epoch, heads, reason = "resync_required" }: Resync): void {
    this.#heads = heads;
    if (this.#saysSomethingNew(epoch, heads)) this.#reset(epoch, heads, reason);
  }

  /** The answer to these cursors; `alone`: there is no socket that says `live`. */
  synced(answer: Synced, asked: Cursors, alone: boolean): void {
    if (this.#epoch === null) return this.#reset(answer.epoch, answer.heads, "fresh");
    if (answer.resync_required) return this.resync({ type: "resync_required", ...answer });
    for (const item of answer.items) this.#feeds.item(item, this.#now());
    this.#feeds.keepOnly(answer.heads, Object.keys(asked));
    if (alone) this.#feeds.live(answer.heads, this.#now());
    this.heads(answer.heads);
  }

  /** Nothing is applied any more; what was taken is kept. */
  stop(): void {
    this.#feeds.pause();
    for (const alarm of [this.#gaps, this.#acks, this.#again]) alarm.clear();
    this.#keep();
  }

  #saysSomethingNew(epoch: string, heads: Cursors): boolean {
    const cursors = this.#feeds.cursors();
    return epoch !== this.#epoch || Object.entries(heads).some(([feed, head]) => head > (cursors[feed] ?? -1));
  }

  #reset(epoch: string, heads: Cursors, reason: string): void {
    this.#epoch = epoch;
    this.#acked = {};
    this.#feeds.reset(heads);
    this.#feeds.pause();
    this.#resetting = true;
    this.#resets += 1;
    void this.#readAgain(reason, this.#resets, 0);
  }

  /** Items wait until the application has read; should it fail, it is asked again. */
  async #readAgain(reason: string, reset: number, failures: number): Promise<void> {
    const { random, timings } = this.#options;
    const done = await this.#options.reset(reason).then(
      () => true,
      () => false,
    );
    if (reset !== this.#resets) return; // another one came meanwhile
    if (!done)
      return this.#again.set(
        pause(failures, random(), timings),
        () => void this.#readAgain(reason, reset, failures + 1),
      );
    this.#resetting = false;
    this.#feeds.resume(this.#now());
    this.#settle();
  }

  /** After whatever may have moved a cursor or opened a gap. */
  #settle(): void {
    this.#watchGaps();
    if (!this.#resetting && !this.#acks.isSet) this.#acks.set(this.#options.timings.ack_every, () => this.#keep());
  }

  #watchGaps(): void {
    const at = this.#feeds.tickAt();
    if (at === null) return this.#gaps.clear();
    this.#gaps.set(at - this.#now(), () => void this.#fetch());
  }

  async #fetch(): Promise<void> {
    const feeds = this.#feeds.tick(this.#now());
    this.#watchGaps();
    if (feeds.length > 0) await this.#options.fetch(feeds).catch(ifWaypost);
  }

  /** Kept, then acked: what the server may forget is never ahead of what is kept. */
  #keep(): void {
    const place = this.place;
    if (place === null || this.#resetting) return;
    const moved = Object.entries(place.cursors).filter(([feed, seq]) => this.#acked[feed] !== seq);
    if (moved.length === 0) return;
    this.#options.kept.keepPlace(place);
    for (const [feed, seq] of moved) this.#options.ack(feed, seq);
    this.#acked = place.cursors;
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

/** A fetch that failed is tried again by the gap's own time. */
function ifWaypost(error: unknown): void {
  if (!(error instanceof WaypostError)) throw error;
}
