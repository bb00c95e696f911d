/** What the desk shows: the whole state of the inbox, as its parts read it. */

import type { ConversationPage, Outgoing, OutgoingChange, State } from "@waypost/client";

import type { Thread } from "./changes";
import { FILTERS, type Filter } from "./filters";
import { Known } from "./known";
import type { Refused } from "./rows";

export interface Listing {
  readonly cursor: string | null;
  readonly more: boolean;
  readonly reading: boolean;
  readonly failed: boolean;
  readonly asked: boolean;
  /** Which of its queries is read at the moment. */
  readonly part: number;
  /** Conversations that were looked through for it. */
  readonly looked: number;
}

export interface Shown {
  readonly state: State;
  /** Since the connection was lost, until there is one again: an attempt is no connection. */
  readonly offline: boolean;
  /** The code that stopped it; null while it goes on. */
  readonly stoppedBy: number | null;
  readonly conversations: Known;
  readonly lists: Readonly<Record<Filter, Listing>>;
  readonly threads: ReadonlyMap<string, Thread>;
  readonly outgoing: readonly Outgoing[];
  /** How many of them the server has not answered for. */
  readonly queued: number;
  readonly refused: readonly Refused[];
  /** Where to find what is no more, since two conversations turned out to be one customer's. */
  readonly joined: ReadonlyMap<string, string>;
  /** Who writes, by conversation. */
  readonly typing: ReadonlyMap<string, string>;
}

export const nothingYet = (outgoing: readonly Outgoing[]): Shown => ({
  state: "connecting",
  offline: false,
  stoppedBy: null,
  conversations: new Known(),
  threads: new Map(),
  refused: [],
  joined: new Map(),
  typing: new Map(),
  lists: NO_LISTS,
  outgoing,
  queued: outgoing.length,
});

const NOT_ASKED: Listing = { cursor: null, more: true, reading: false, failed: false, asked: false, part: 0, looked: 0 };
export const NO_LISTS = Object.fromEntries(FILTERS.map((filter) => [filter, NOT_ASKED])) as Record<Filter, Listing>;

export const without = (messages: readonly Outgoing[], id: string): readonly Outgoing[] =>
  messages.some(({ client_message_id }) => client_message_id === id)
    ? messages.filter(({ client_message_id }) => client_message_id !== id)
    : messages;

/** A list after a page of one of the server's own lists, of which it has so many. */
export function listedWith(listing: Listing, { conversations, next_cursor, has_more }: ConversationPage, queries: number): Listing {
  const part = has_more ? listing.part : listing.part + 1;
  const looked = listing.looked + conversations.length;
  return { cursor: has_more ? next_cursor : null, more: part < queries, part, looked, reading: false, failed: false, asked: true };
}

/** What is on its way after a change of it; `queued`: how many the server has not answered for. */
export function outgoingAfter({ outgoing, refused }: Shown, change: OutgoingChange, queued: number): Partial<Shown> {
  const { message } = change;
  const others = without(outgoing, message.client_message_id);
  switch (change.change) {
    case "queued":
      return { outgoing: [...others, message], queued };
    case "refused":
      return { outgoing: others, queued, refused: [...refused, { message, code: change.code }] };
    case "sent": // it is shown as on its way until it comes back as an item
    case "trying":
      return { queued };
  }
}
