/** Which conversations a list shows: what is asked of the server, and what of the known ones belongs to it. */

import type { Conversation } from "../model";

export const FILTERS = ["open", "unread", "mine", "waiting", "unassigned", "bot", "expired", "closed"] as const;
export type Filter = (typeof FILTERS)[number];

/** Somebody, nobody in particular, is to answer. */
export const ANYBODY = "human";
export const BOT = "bot";

/** The server's own lists that make up this one, read one after the other: each is served by an index there. */
export function queriesOf(filter: Filter, me: string): readonly Record<string, string>[] {
  switch (filter) {
    case "mine":
      return [{ floor: me }, { assignee: me }];
    case "waiting":
      return [{ floor: ANYBODY }];
    case "closed":
      return [{ state: "closed" }];
    default:
      return [{}];
  }
}

/** Which of the server's lists it is read from; another one is looked through here, and the page says how far. */
export const sourceOf = (filter: Filter): Filter => (["mine", "waiting", "closed"].includes(filter) ? filter : "open");

/** Of so many more that are looked through, one belongs to the list. */
const ENOUGH = 4;

/**
 * Whether the next page is read unasked. A list that holds others beside its own, such as closed ones among mine, is
 * looked through as long as enough of it belongs here; only that of the closed ones is given by the server as it is.
 */
export const mayLookOn = (filter: Filter, looked: number, upTo: number, found: number): boolean =>
  filter === "closed" || looked < upTo + ENOUGH * found;

export function belongs(conversation: Conversation, filter: Filter, me: string, now: number): boolean {
  const { kind, unread, floor, assignee, state, window_expires_at: until } = conversation;
  if (filter === "closed") return state === "closed";
  if (state === "closed") return false;
  switch (filter) {
    case "open":
      return true;
    case "unread":
      return unread > 0;
    case "mine":
      return floor === me || assignee === me;
    case "waiting":
      return floor === ANYBODY;
    case "unassigned":
      return kind === "customer" && assignee === null;
    case "bot":
      return floor === BOT;
    case "expired":
      return kind === "customer" && (until === null || Date.parse(until) <= now);
  }
}
