/** Turns server frames into the application's stream: resets, items in order, and cursors that follow delivery. */

import { Alarm, type Clock } from "./clock.js";
import { WaypostError } from "./errors.js";
import { SequenceBuffer } from "./sequence.js";
import type { Store } from "./store.js";
import type { Cursors, Item, Resync, SyncResponse, Welcome } from "./types.js";
import { reconnectDelay } from "./reconnect.js";
import type { Timings } from "./timing.js";

export interface StreamOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
  /** Overrides the stored epoch. */
  readonly epoch?: string;
  readonly apply: (item: Item) => void;
  /** Resolves when the application has reloaded everything; rejects if that failed. */
  readonly reset: (reason: string) => Promise<unknown>;
  readonly fetch: (feeds: readonly string[]) => Promise<unknown>;
  readonly ack: (feed: string, seq: number) => void;
}

export class Stream {
  readonly #options: StreamOptions;
  readonly #feeds: SequenceBuffer;
  readonly #gaps: Alarm;
  readonly #acks: Alarm;
  readonly #resetRetry: Alarm;
  #epoch: string | null;
  #heads: Cursors = {};
  #acked: Cursors = {};
  #resets = 0;
  #resetting = false;

  constructor(options: StreamOptions) {
    const { store, clock, timings } = options;
    this.#options = options;
    const position = store.feedPosition();
    this.#epoch = position && (options.epoch ?? position.epoch);
    this.#feeds = new SequenceBuffer(options.apply, timings.hold, position?.cursors);
    this.#gaps = new Alarm(clock);
    this.#acks = new Alarm(clock);
    this.#resetRetry = new Alarm(clock);
  }

  /** The epoch and cursors for hello and sync; null for a fresh device. */
  get feedPosition(): { readonly epoch: string; readonly cursors: Cursors } | null {
    return this.#epoch === null ? null : { epoch: this.#epoch, cursors: this.#feeds.cursors() };
  }

  /** The user whose feeds these are; null until one is known. */
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

  /** Heads beyond the received items mark a gap. */
  live(heads: Cursors): void {
    this.#feeds.live(this.#heads, this.#now(), heads);
    this.#heads = {}; // `live` may be repeated: a feed that has ended meanwhile must not start again
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
    if (this.#isNew(epoch, heads)) this.#reset(epoch, heads, reason);
  }

  /** The response to a sync request; `isPolling`: there is no socket that sends `live`. */
  synced(response: SyncResponse, requested: Cursors, isPolling: boolean): void {
    if (this.#epoch === null) return this.#reset(response.epoch, response.heads, "fresh");
    if (response.resync_required) return this.resync({ type: "resync_required", ...response });
    for (const item of response.items) this.#feeds.item(item, this.#now());
    this.#feeds.keepOnly(response.heads, Object.keys(requested));
    if (isPolling && !response.has_more) this.#feeds.live(response.heads, this.#now());
    this.heads(response.heads);
  }

  /** Stops applying items and saves the cursors. */
  stop(): void {
    this.#feeds.pause();
    for (const alarm of [this.#gaps, this.#acks, this.#resetRetry]) alarm.clear();
    this.#saveAndAck();
  }

  #isNew(epoch: string, heads: Cursors): boolean {
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
    void this.#runReset(reason, this.#resets, 0);
  }

  /** Items are held until the application has reloaded; if that fails, it is retried. */
  async #runReset(reason: string, reset: number, failures: number): Promise<void> {
    const { random, timings } = this.#options;
    const done = await this.#options.reset(reason).then(
      () => true,
      () => false,
    );
    if (reset !== this.#resets) return; // superseded by another reset
    if (!done)
      return this.#resetRetry.set(
        reconnectDelay(failures, random(), timings),
        () => void this.#runReset(reason, reset, failures + 1),
      );
    this.#resetting = false;
    this.#feeds.resume(this.#now());
    this.#settle();
  }

  /** Called after any change that may have moved a cursor or opened a gap. */
  #settle(): void {
    this.#watchGaps();
    if (this.#resetting || this.#acks.isSet) return;
    this.#acks.set(this.#options.timings.ack_every, () => this.#saveAndAck());
  }

  #watchGaps(): void {
    const at = this.#feeds.tickAt();
    if (at === null) return this.#gaps.clear();
    this.#gaps.set(at - this.#now(), () => void this.#fetch());
  }

  async #fetch(): Promise<void> {
    const feeds = this.#feeds.tick(this.#now());
    this.#watchGaps();
    if (feeds.length > 0) await this.#options.fetch(feeds).catch(ignoreWaypostError);
  }

  /** Saved before acked: the server may prune acked items, so the stored cursor must never be behind an ack. */
  #saveAndAck(): void {
    const position = this.feedPosition;
    if (position === null || this.#resetting) return;
    const moved = Object.entries(position.cursors).filter(([feed, seq]) => this.#acked[feed] !== seq);
    if (moved.length === 0) return;
    this.#options.store.saveFeedPosition(position);
    for (const [feed, seq] of moved) this.#options.ack(feed, seq);
    this.#acked = position.cursors;
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

/** A failed fetch is retried when the gap is next due. */
function ignoreWaypostError(error: unknown): void {
  if (!(error instanceof WaypostError)) throw error;
}
