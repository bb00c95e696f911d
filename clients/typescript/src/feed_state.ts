/** The sequence buffer of one feed, as immutable values: the last applied item and the items held after a gap. */

import type { Item } from "./types.js";

/** At this size the held items are dropped; the fetch that closes the gap returns them again. */
export const MOST_HELD = 1_000;

export interface FeedState {
  /** Null until `joined` or `live` sets the start of the feed. */
  readonly last: number | null;
  /** The highest sequence number known to exist. */
  readonly head: number;
  /** In sequence order. */
  readonly held: readonly Item[];
}

export const UNKNOWN: FeedState = { last: null, head: 0, held: [] };

export const startingAt = (last: number): FeedState => ({ last, head: last, held: [] });

/** Inserts the item in order; ignores duplicates. */
export function withItem(state: FeedState, item: Item): FeedState {
  if (state.last !== null && item.seq <= state.last) return state;
  if (state.held.some((held) => held.seq === item.seq)) return state;
  const head = Math.max(state.head, item.seq);
  if (state.held.length >= MOST_HELD) return { ...state, head, held: [] };
  return { ...state, head, held: [...state.held, item].sort((a, b) => a.seq - b.seq) };
}

/** The item that can be applied now, or null. */
export function nextItem({ last, held }: FeedState): Item | null {
  return held.find((item) => item.prev === last) ?? null;
}

/** Starts or advances the feed after `last`; never moves it back. */
export function advancedTo(state: FeedState, last: number): FeedState {
  if (state.last !== null && state.last >= last) return state;
  return { last, head: Math.max(state.head, last), held: state.held.filter((item) => item.seq > last) };
}

export function withHead(state: FeedState, head: number): FeedState {
  return head > state.head ? { ...state, head } : state;
}

/** Items exist that were not applied, and the feed should already have delivered them. */
export function hasGap({ last, head }: FeedState): boolean {
  return last !== null && head > last;
}
