/** What the desk shows: the whole state of the inbox, as its parts read it. */

import type { Outgoing, State } from "@waypost/client";

import type { Thread } from "./changes";
import { FILTERS, type Filter } from "./filters";
import type { Known } from "./known";
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
  /** Who writes, by conversation. */
  readonly typing: ReadonlyMap<string, string>;
}

const NOT_ASKED: Listing = { cursor: null, more: true, reading: false, failed: false, asked: false, part: 0, looked: 0 };
export const NO_LISTS = Object.fromEntries(FILTERS.map((filter) => [filter, NOT_ASKED])) as Record<Filter, Listing>;

export const without = (messages: readonly Outgoing[], id: string): readonly Outgoing[] =>
  messages.some(({ client_message_id }) => client_message_id === id)
    ? messages.filter(({ client_message_id }) => client_message_id !== id)
    : messages;
