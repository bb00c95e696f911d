/** Which conversations a list shows: what is asked of the server, and what of the known ones belongs to it. */

import type { Conversation } from "../model";

export type Filter = "all" | "unread" | "mine" | "waiting";
export const FILTERS: readonly Filter[] = ["all", "unread", "mine", "waiting"];

/** Somebody, nobody in particular, is to answer. */
export const ANYBODY = "human";
export const BOT = "bot";

/** The server's own narrowing, where it has one. */
export function queryOf(filter: Filter, me: string): Record<string, string> {
  if (filter === "mine") return { floor: me };
  return filter === "waiting" ? { floor: ANYBODY } : {};
}

export function belongs(conversation: Conversation, filter: Filter, me: string): boolean {
  switch (filter) {
    case "all":
      return true;
    case "unread":
      return conversation.unread > 0;
    case "mine":
      return conversation.floor === me || conversation.assignee === me;
    case "waiting":
      return conversation.floor === ANYBODY;
  }
}
