/** All feeds of a device: each item is applied once, in its feed's order; a gap is reported when it is old enough. */

import type { Cursors, Item } from "./protocol.js";
import { following, hasGap, passed, startingAt, UNKNOWN, withHead, withItem, type FeedState } from "./sequence.js";

type Apply = (item: Item) => void;

export class Feeds {
  readonly #apply: Apply;
  readonly #hold: number;
  readonly #feeds = new Map<string, FeedState>();
  /** When the gap of a feed is to be fetched. */
  readonly #due = new Map<string, number>();
  #paused = false;

  constructor(apply: Apply, hold: number, cursors: Cursors = {}) {
    this.#apply = apply;
    this.#hold = hold;
    this.#startAt(cursors);
  }

  /** The last item of each feed that was applied. */
  cursors(): Cursors {
    const known = [...this.#feeds].flatMap(([feed, { last }]) => (last === null ? [] : [[feed, last] as const]));
    return Object.fromEntries(known);
  }

  item(item: Item, now: number): void {
    this.#set(item.feed, withItem(this.#get(item.feed), item), now);
    this.#drain([item.feed], now);
  }

  /** What a pong or a fetch says of the heads; a feed that is not known will be by its `joined`. */
  heads(heads: Cursors, now: number): void {
    for (const [feed, head] of Object.entries(heads)) {
      const state = this.#feeds.get(feed);
      if (state !== undefined && state.last !== null) this.#set(feed, withHead(state, head), now);
    }
  }

  /** The catching up is over: a feed without a cursor starts before its first item, else at its head; others than `among` are not ours. */
  live(heads: Cursors, now: number, among: Cursors = {}): void {
    const all = Object.keys(among).length === 0;
    for (const feed of new Set([...Object.keys(heads), ...this.#feeds.keys()])) {
      const state = this.#get(feed);
      if (state.last === null && !all && !Object.hasOwn(among, feed)) this.#forget(feed);
      else if (state.last === null) this.#set(feed, passed(state, state.held[0]?.prev ?? heads[feed] ?? 0), now);
    }
    this.#drain([...this.#feeds.keys()], now);
  }

  /** Everything held is dropped; each feed goes on after its head. */
  reset(heads: Cursors): void {
    this.#feeds.clear();
    this.#due.clear();
    this.#startAt(heads);
  }

  /** Of these feeds, those that the server no longer names are no longer ours. */
  keepOnly(named: Cursors, among: Iterable<string>): void {
    for (const feed of among) if (!Object.hasOwn(named, feed)) this.#forget(feed);
  }

  /** Items are held, none is applied. */
  pause(): void {
    this.#paused = true;
  }

  resume(now: number): void {
    this.#paused = false;
    this.#drain([...this.#feeds.keys()], now);
  }

  /** The feeds that are to be fetched now. */
  tick(now: number): readonly string[] {
    if (this.#paused) return [];
    const feeds = [...this.#due].filter(([, due]) => now >= due).map(([feed]) => feed);
    for (const feed of feeds) this.#due.set(feed, now + this.#hold);
    return feeds.sort();
  }

  /** When the next tick has something to say. */
  tickAt(): number | null {
    return this.#due.size === 0 || this.#paused ? null : Math.min(...this.#due.values());
  }

  #get(feed: string): FeedState {
    return this.#feeds.get(feed) ?? UNKNOWN;
  }

  /** A gap has its time from when it was seen; the one behind a gap that closed has a time of its own. */
  #set(feed: string, state: FeedState, now: number): void {
    const moved = this.#get(feed).last !== state.last;
    this.#feeds.set(feed, state);
    if (!hasGap(state)) this.#due.delete(feed);
    else if (moved || !this.#due.has(feed)) this.#due.set(feed, now + this.#hold);
  }

  #drain(feeds: string[], now: number): void {
    for (let feed = feeds.shift(); feed !== undefined; feed = feeds.shift()) {
      for (let item = this.#next(feed); item !== null; item = this.#next(feed)) {
        this.#apply(item);
        this.#set(feed, passed(this.#get(feed), item.seq), now);
        feeds.push(...this.#opened(item, now));
        this.#close(item);
      }
    }
  }

  #next(feed: string): Item | null {
    return this.#paused ? null : following(this.#get(feed));
  }

  /** The feed whose start this item gives. */
  #opened({ kind, joins }: Item, now: number): string[] {
    if (kind !== "joined" || joins === undefined || joins === null) return [];
    this.#set(joins.feed, passed(this.#get(joins.feed), joins.from), now);
    return [joins.feed];
  }

  /** Who is removed from a group is given nothing more of its feed. */
  #close(item: Item): void {
    const removed = item.kind === "members" ? item["removed"] : undefined;
    if (!Array.isArray(removed) || typeof item.conversation_id !== "string") return;
    if (removed.some((user) => this.#feeds.has(`user:${String(user)}`))) this.#forget(`group:${item.conversation_id}`);
  }

  #forget(feed: string): void {
    this.#feeds.delete(feed);
    this.#due.delete(feed);
  }

  #startAt(cursors: Cursors): void {
    for (const [feed, last] of Object.entries(cursors)) this.#feeds.set(feed, startingAt(last));
  }
}
