/** List filters: the server queries for each filter, and which conversations match it. */

import type { Conversation } from "../model";

export const FILTERS = ["open", "unread", "mine", "waiting", "unassigned", "bot", "expired", "closed"] as const;
export type Filter = (typeof FILTERS)[number];

/** The floor value for "any agent". */
export const ANYBODY = "human";
export const BOT = "bot";

/** The server lists that make up this one, read one after the other; each is backed by an index. */
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

/** The server list that a filter reads; other filters are applied here, and the page shows how many were checked. */
export const sourceOf = (filter: Filter): Filter => (["mine", "waiting", "closed"].includes(filter) ? filter : "open");

/** One match justifies checking this many more conversations. */
const ENOUGH = 4;

/**
 * Whether the next page is loaded automatically. A list that also contains other conversations, such as closed ones
 * among mine, is checked as long as enough of it matches; only the list of closed conversations matches completely.
 */
export const mayLoadMore = (filter: Filter, looked: number, upTo: number, found: number): boolean =>
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
