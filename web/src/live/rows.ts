/** The rows of a thread in display order: days, messages, events and outgoing messages. */

import type { Outgoing } from "@waypost/client";

import { WINDOW_MS, type Thread } from "./changes";
import type { ThreadEvent, ThreadAction } from "./thread-events";
import { namedBy, reactionsIn, type Reaction } from "./references";
import type { Message } from "../model";
import { dayOf } from "../time";
import { isFromCustomer } from "../display-text";

export interface Refused {
  readonly message: Outgoing;
  readonly code: string;
}

export type Row =
  | { readonly is: "day"; readonly key: string; readonly at: string }
  | { readonly is: "unread"; readonly key: string }
  | {
      readonly is: "message";
      readonly key: string;
      readonly message: Message;
      /** The message arrived late: it was written on an earlier day than the one it is shown under. */
      readonly late: boolean;
      readonly first: boolean;
      readonly last: boolean;
      readonly reactions: readonly Reaction[];
      /** The quoted message; null if it is not loaded. */
      readonly quoted: Message | null | undefined;
    }
  | { readonly is: "event"; readonly key: string; readonly at: string; readonly action: ThreadAction }
  | { readonly is: "outgoing"; readonly key: string; readonly message: Outgoing; readonly refused: string | null; readonly quoted: Message | null | undefined };

/** What a thread shows besides its messages. */
export interface Beside {
  readonly events?: readonly ThreadEvent[];
  readonly outgoing?: readonly Outgoing[];
  readonly refused?: readonly Refused[];
  /** The read position when the thread was opened; null: no marker. */
  readonly readUpTo?: number | null;
  readonly now?: number;
}

/** Messages of one sender within this time are grouped. */
const TOGETHER_MS = 5 * 60_000;

export function rowsOf(thread: Thread, beside: Beside = {}): readonly Row[] {
  const { outgoing = [], refused = [], readUpTo = null, now = Date.now() } = beside;
  const reactions = reactionsIn(thread.messages);
  const byName = new Map(thread.messages.flatMap((message) => (message.provider_message_id == null ? [] : [[message.provider_message_id, message]])));
  const quotedIn = (content: Message["content"]): Message | null | undefined => {
    const named = namedBy(content);
    return named === null ? undefined : (byName.get(named) ?? null);
  };
  const messages = thread.messages.filter(({ message_id }) => !reactions.attached.has(message_id));
  const between = eventsIn(thread, beside.events ?? [], now);
  const rows: Row[] = [];
  const shown = new Set<string>();
  let next = 0;
  let marked = readUpTo === null;
  // The first row gets a day separator only if nothing precedes it; otherwise the day may start further up.
  let day = thread.cursor === null || messages[0] === undefined ? -Infinity : dayBegun(messages[0].timestamp);
  // Days never go backwards: a late message is shown under the day on which it arrived.
  const begin = (at: string, key: string): void => {
    if (dayBegun(at) > day) rows.push({ is: "day", key: `day:${key}`, at });
    day = Math.max(day, dayBegun(at));
  };
  const pushEvent = (event: Placed): void => {
    begin(event.at, event.key);
    rows.push({ is: "event", key: event.key, at: event.at, action: event.action });
  };
  messages.forEach((message, index) => {
    const moment = storedAt(message);
    for (let one = between[next]; one !== undefined && one.place <= moment; one = between[++next]) pushEvent(one);
    begin(message.timestamp, String(message.position));
    const newHere = !marked && readUpTo !== null && message.position > readUpTo && isFromCustomer(message.sender_id);
    if (newHere) rows.push({ is: "unread", key: "unread" });
    marked ||= newHere;
    if (message.client_message_id !== null) shown.add(message.client_message_id);
    // The client's own ID if there is one, so that an outgoing message keeps its row.
    const key = message.client_message_id ?? message.message_id;
    const first = rows.at(-1)?.is !== "message" || !areTogether(messages[index - 1], message);
    const last = !areTogether(message, messages[index + 1]);
    const theirs = reactions.of.get(message.provider_message_id ?? "") ?? [];
    const late = dayBegun(message.timestamp) < day;
    rows.push({ is: "message", key, message, late, first, last, reactions: theirs, quoted: quotedIn(message.content) });
  });
  between.slice(next).forEach(pushEvent);
  for (const each of refused) rows.push(waiting(each.message, each.code, quotedIn(each.message.content)));
  for (const message of outgoing)
    if (!shown.has(message.client_message_id)) rows.push(waiting(message, null, quotedIn(message.content)));
  return rows;
}

/** Events since the first loaded message, and the times at which the 24-hour window closed. */
function eventsIn({ messages, cursor }: Thread, known: readonly ThreadEvent[], now: number): readonly Placed[] {
  const begin = cursor === null ? 0 : Date.parse(messages[0]?.timestamp ?? "");
  const found = known.map((one): Placed => ({ ...one, place: Date.parse(one.at) })).filter(({ place }) => place >= begin);
  const written = lastWords(messages);
  written.forEach(({ at, stored }, index) => {
    const end = at + WINDOW_MS;
    if (end >= (written[index + 1]?.at ?? now)) return;
    found.push({ key: `window:${end}`, at: new Date(end).toISOString(), action: { is: "window" }, place: Math.max(end, stored + 1) });
  });
  return found.sort((a, b) => a.place - b.place);
}

/** An event with its sort position: the window never closes above the message that opened it, even if that arrived late. */
interface Placed extends ThreadEvent {
  readonly place: number;
}

/** The customer's messages without late ones, which do not open a window. */
function lastWords(messages: readonly Message[]): readonly { readonly at: number; readonly stored: number }[] {
  let newest = -Infinity;
  return messages.flatMap((message) => {
    const at = Date.parse(message.timestamp);
    if (!isFromCustomer(message.sender_id) || at < newest) return [];
    newest = at;
    return [{ at, stored: storedAt(message) }];
  });
}

const dayBegun = (moment: string): number => new Date(moment).setHours(0, 0, 0, 0);

/** 100 ns steps from 1582 to 1970: the epoch of a TimeUUID. */
const BEFORE_1970 = 0x01b21dd213814000n;

/** The time of storage, from the message ID: a customer's timestamp has seconds only, and may arrive late. */
export function storedAt({ message_id, timestamp }: Pick<Message, "message_id" | "timestamp">): number {
  const [, low, mid, high] = /^([0-9a-f]{8})-([0-9a-f]{4})-1([0-9a-f]{3})-/.exec(message_id) ?? [];
  return high === undefined ? Date.parse(timestamp) : Number((BigInt(`0x${high}${mid}${low}`) - BEFORE_1970) / 10_000n);
}

const waiting = (message: Outgoing, refused: string | null, quoted: Message | null | undefined): Row => ({
  is: "outgoing",
  key: message.client_message_id,
  message,
  refused,
  quoted,
});

function areTogether(one: Message | undefined, other: Message | undefined): boolean {
  if (one === undefined || other === undefined || one.sender_id !== other.sender_id) return false;
  if ((one.content["type"] === "note") !== (other.content["type"] === "note")) return false;
  const gap = Date.parse(other.timestamp) - Date.parse(one.timestamp);
  return gap < TOGETHER_MS && dayOf(one.timestamp) === dayOf(other.timestamp);
}
