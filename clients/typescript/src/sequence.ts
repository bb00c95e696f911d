/** The sequence buffer of one feed: what may be shown now, what waits for an earlier item, what was shown before. */

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

export interface Taken {
  readonly state: FeedState;
  /** To be shown now, in this order. */
  readonly ready: readonly Item[];
}

export const UNKNOWN: FeedState = { last: null, head: 0, held: [] };

export const at = (last: number): FeedState => ({ last, head: last, held: [] });

/** Applied if it follows the last one, dropped if it was there before, else held. */
export function take(state: FeedState, item: Item): Taken {
  if (state.last !== null && item.seq <= state.last) return { state, ready: [] };
  const seen = { ...state, head: Math.max(state.head, item.seq) };
  return state.last === item.prev ? release(seen, item.seq, [item]) : { state: hold(seen, item), ready: [] };
}

/** The feed begins, or goes on, after `from`, unless it is further already. */
export function startAt(state: FeedState, from: number): Taken {
  if (state.last !== null && state.last >= from) return { state, ready: [] };
  return release({ ...state, head: Math.max(state.head, from) }, from, []);
}

/** The server names the last number of a feed. */
export function knowHead(state: FeedState, head: number): FeedState {
  return head > state.head ? { ...state, head } : state;
}

/** Something exists that was not shown, and the feed's own items should bring it. */
export function hasGap(state: FeedState): boolean {
  return state.last !== null && state.head > state.last;
}

function hold(state: FeedState, item: Item): FeedState {
  if (state.held.some((held) => held.seq === item.seq)) return state;
  if (state.held.length >= MOST_HELD) return { ...state, held: [] };
  return { ...state, held: [...state.held, item].sort((a, b) => a.seq - b.seq) };
}

function release(state: FeedState, from: number, before: readonly Item[]): Taken {
  const ready = [...before];
  let last = from;
  for (const item of state.held) {
    if (item.prev !== last) continue;
    last = item.seq;
    ready.push(item);
  }
  return { state: { ...state, last, held: state.held.filter((item) => item.seq > last) }, ready };
}
