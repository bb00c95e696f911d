/** The state of the inbox, as its components read it. */

import type { ConversationPage, Outgoing, OutgoingChange, State } from "@waypost/client";

import type { Thread } from "./changes";
import { FILTERS, type Filter } from "./filters";
import { ConversationIndex } from "./conversation-index";
import type { Refused } from "./rows";

export interface Listing {
  readonly cursor: string | null;
  readonly more: boolean;
  readonly reading: boolean;
  readonly failed: boolean;
  readonly asked: boolean;
  /** The index of the query being read. */
  readonly part: number;
  /** The number of conversations checked. */
  readonly looked: number;
}

export interface InboxState {
  readonly connection: State;
  /** From losing the connection until the next one; an attempt does not count. */
  readonly offline: boolean;
  /** The code that stopped the client; null while it runs. */
  readonly stoppedBy: number | null;
  readonly conversations: ConversationIndex;
  readonly lists: Readonly<Record<Filter, Listing>>;
  readonly threads: ReadonlyMap<string, Thread>;
  readonly outgoing: readonly Outgoing[];
  /** How many of them have no response from the server. */
  readonly queued: number;
  readonly refused: readonly Refused[];
  /** The target of each merged conversation. */
  readonly joined: ReadonlyMap<string, string>;
  /** Who is typing, by conversation. */
  readonly typing: ReadonlyMap<string, string>;
}

export const initialState = (outgoing: readonly Outgoing[]): InboxState => ({
  connection: "connecting",
  offline: false,
  stoppedBy: null,
  conversations: new ConversationIndex(),
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

/** The list after a page of one of its queries. */
export function listedWith(listing: Listing, { conversations, next_cursor, has_more }: ConversationPage, queries: number): Listing {
  const part = has_more ? listing.part : listing.part + 1;
  const looked = listing.looked + conversations.length;
  return { cursor: has_more ? next_cursor : null, more: part < queries, part, looked, reading: false, failed: false, asked: true };
}

/** The outgoing messages after a change; `queued`: how many have no response from the server. */
export function outgoingAfter({ outgoing, refused }: InboxState, change: OutgoingChange, queued: number): Partial<InboxState> {
  const { message } = change;
  const others = without(outgoing, message.client_message_id);
  switch (change.change) {
    case "queued":
      return { outgoing: [...others, message], queued };
    case "refused":
      return { outgoing: others, queued, refused: [...refused, { message, code: change.code }] };
    case "sent": // stays visible as outgoing until its item arrives
    case "trying":
      return { queued };
  }
}
