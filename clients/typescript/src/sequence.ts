/** The sequence buffer of all feeds: each item is applied once, in order; gaps are reported after a hold time. */

import type { Cursors, Item } from "./types.js";
import { nextItem, hasGap, advancedTo, startingAt, UNKNOWN, withHead, withItem, type FeedState } from "./feed_state.js";

type Apply = (item: Item) => void;

export class SequenceBuffer {
  readonly #apply: Apply;
  readonly #hold: number;
  readonly #feeds = new Map<string, FeedState>();
  /** When each feed's gap is to be fetched. */
  readonly #due = new Map<string, number>();
  #paused = false;

  constructor(apply: Apply, hold: number, cursors: Cursors = {}) {
    this.#apply = apply;
    this.#hold = hold;
    this.#startAt(cursors);
  }

  /** The last applied item of each feed. */
  cursors(): Cursors {
    const known = [...this.#feeds].flatMap(([feed, { last }]) => (last === null ? [] : [[feed, last] as const]));
    return Object.fromEntries(known);
  }

  item(item: Item, now: number): void {
    this.#set(item.feed, withItem(this.#get(item.feed), item), now);
    this.#drain([item.feed], now);
  }

  /** Heads from a pong or a fetch; an unknown feed is skipped, since its `joined` item will announce it. */
  heads(heads: Cursors, now: number): void {
    for (const [feed, head] of Object.entries(heads)) {
      const state = this.#feeds.get(feed);
      if (state !== undefined && state.last !== null) this.#set(feed, withHead(state, head), now);
    }
  }

  /**
   * Catching up is complete: a feed without a cursor starts before its first held item, otherwise at its head.
   * Feeds that are not in `among` are dropped.
   */
  live(heads: Cursors, now: number, among: Cursors = {}): void {
    const all = Object.keys(among).length === 0;
    for (const feed of new Set([...Object.keys(heads), ...this.#feeds.keys()])) {
      const state = this.#get(feed);
      if (state.last === null && !all && !Object.hasOwn(among, feed)) this.#forget(feed);
      else if (state.last === null) this.#set(feed, advancedTo(state, state.held[0]?.prev ?? heads[feed] ?? 0), now);
    }
    this.#drain([...this.#feeds.keys()], now);
  }

  /** Drops all held items; each feed continues after its head. */
  reset(heads: Cursors): void {
    this.#feeds.clear();
    this.#due.clear();
    this.#startAt(heads);
  }

  /** Drops the feeds in `among` that the server no longer lists. */
  keepOnly(named: Cursors, among: Iterable<string>): void {
    for (const feed of among) if (!Object.hasOwn(named, feed)) this.#forget(feed);
  }

  /** Items are held and not applied. */
  pause(): void {
    this.#paused = true;
  }

  resume(now: number): void {
    this.#paused = false;
    this.#drain([...this.#feeds.keys()], now);
  }

  /** The feeds to fetch now. */
  tick(now: number): readonly string[] {
    if (this.#paused) return [];
    const feeds = [...this.#due].filter(([, due]) => now >= due).map(([feed]) => feed);
    for (const feed of feeds) this.#due.set(feed, now + this.#hold);
    return feeds.sort();
  }

  /** When the next tick is due. */
  tickAt(): number | null {
    return this.#due.size === 0 || this.#paused ? null : Math.min(...this.#due.values());
  }

  #get(feed: string): FeedState {
    return this.#feeds.get(feed) ?? UNKNOWN;
  }

  /** The hold time of a gap starts when it is detected; a gap behind a closed one gets its own hold time. */
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
        this.#set(feed, advancedTo(this.#get(feed), item.seq), now);
        feeds.push(...this.#startJoinedFeed(item, now));
        this.#endRemovedFeed(item);
      }
    }
  }

  #next(feed: string): Item | null {
    return this.#paused ? null : nextItem(this.#get(feed));
  }

  /** A `joined` item sets the start of another feed. */
  #startJoinedFeed({ kind, joins }: Item, now: number): string[] {
    if (kind !== "joined" || joins === undefined || joins === null) return [];
    this.#set(joins.feed, advancedTo(this.#get(joins.feed), joins.from), now);
    return [joins.feed];
  }

  /** A user who is removed from a group no longer receives its feed. */
  #endRemovedFeed(item: Item): void {
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
