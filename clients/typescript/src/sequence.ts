/** The sequence buffer of one feed, as values: what follows the last item, and what waits for an earlier one. */

import type { Item } from "./protocol.js";

/** Beyond this, what is held is dropped: the fetch that closes the gap brings it again. */
export const MOST_HELD = 1_000;

export interface FeedState {
  /** Null while the feed's start is not known: neither `joined` nor `live` gave it one. */
  readonly last: number | null;
  /** The highest number that is known to exist. */
  readonly head: number;
  /** In the order of their numbers. */
  readonly held: readonly Item[];
}

export const UNKNOWN: FeedState = { last: null, head: 0, held: [] };

export const startingAt = (last: number): FeedState => ({ last, head: last, held: [] });

/** With the item in its place, unless it was there before. */
export function withItem(state: FeedState, item: Item): FeedState {
  if (state.last !== null && item.seq <= state.last) return state;
  if (state.held.some((held) => held.seq === item.seq)) return state;
  const head = Math.max(state.head, item.seq);
  if (state.held.length >= MOST_HELD) return { ...state, head, held: [] };
  return { ...state, head, held: [...state.held, item].sort((a, b) => a.seq - b.seq) };
}

/** The item that may be shown now. */
export function following({ last, held }: FeedState): Item | null {
  return held.find((item) => item.prev === last) ?? null;
}

/** The feed begins, or goes on, after this number, unless it is further already. */
export function passed(state: FeedState, last: number): FeedState {
  if (state.last !== null && state.last >= last) return state;
  return { last, head: Math.max(state.head, last), held: state.held.filter((item) => item.seq > last) };
}

export function withHead(state: FeedState, head: number): FeedState {
  return head > state.head ? { ...state, head } : state;
}

/** Something exists that was not shown, and the feed's own items should have brought it. */
export function hasGap({ last, head }: FeedState): boolean {
  return last !== null && head > last;
}
