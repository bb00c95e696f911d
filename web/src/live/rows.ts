/** A thread as rows: days, messages, happenings, and what is still on its way, in the order in which they are read. */

import type { Outgoing } from "@waypost/client";

import { WINDOW_MS, type Thread } from "./changes";
import type { Happening, Told } from "./happenings";
import { namedBy, reactionsIn, type Reaction } from "./references";
import type { Message } from "../model";
import { dayOf } from "../time";
import { isFromCustomer } from "../words";

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
      /** Written on an earlier day than it stands under: it came late. */
      readonly late: boolean;
      readonly first: boolean;
      readonly last: boolean;
      readonly reactions: readonly Reaction[];
      /** What it answers; null where that is not read yet. */
      readonly quoted: Message | null | undefined;
    }
  | { readonly is: "happening"; readonly key: string; readonly at: string; readonly deed: Told }
  | { readonly is: "outgoing"; readonly key: string; readonly message: Outgoing; readonly refused: string | null; readonly quoted: Message | null | undefined };

/** What stands in a thread beside its messages. */
export interface Beside {
  readonly happenings?: readonly Happening[];
  readonly outgoing?: readonly Outgoing[];
  readonly refused?: readonly Refused[];
  /** Up to where it was read when it was opened; none: nothing is marked. */
  readonly readUpTo?: number | null;
  readonly now?: number;
}

/** Messages of one sender within this time stand close together. */
const TOGETHER_MS = 5 * 60_000;

export function rowsOf(thread: Thread, beside: Beside = {}): readonly Row[] {
  const { outgoing = [], refused = [], readUpTo = null, now = Date.now() } = beside;
  const reactions = reactionsIn(thread.messages);
  const byName = new Map(thread.messages.flatMap((message) => (message.provider_message_id == null ? [] : [[message.provider_message_id, message]])));
  const quotedIn = (content: Message["content"]): Message | null | undefined => {
    const named = namedBy(content);
    return named === null ? undefined : (byName.get(named) ?? null);
  };
  const said = thread.messages.filter(({ message_id }) => !reactions.attached.has(message_id));
  const between = happened(thread, beside.happenings ?? [], now);
  const rows: Row[] = [];
  const shown = new Set<string>();
  let next = 0;
  let marked = readUpTo === null;
  // Above the first row only when there is nothing before it: a day that goes on upwards begins further up.
  let day = thread.cursor === null || said[0] === undefined ? -Infinity : dayBegun(said[0].timestamp);
  // Days never go backwards: what came late stands under the day on which it came.
  const begin = (at: string, key: string): void => {
    if (dayBegun(at) > day) rows.push({ is: "day", key: `day:${key}`, at });
    day = Math.max(day, dayBegun(at));
  };
  const happen = (happening: Placed): void => {
    begin(happening.at, happening.key);
    rows.push({ is: "happening", key: happening.key, at: happening.at, deed: happening.deed });
  };
  said.forEach((message, index) => {
    const moment = storedAt(message);
    for (let one = between[next]; one !== undefined && one.place <= moment; one = between[++next]) happen(one);
    begin(message.timestamp, String(message.position));
    const newHere = !marked && readUpTo !== null && message.position > readUpTo && isFromCustomer(message.sender_id);
    if (newHere) rows.push({ is: "unread", key: "unread" });
    marked ||= newHere;
    if (message.client_message_id !== null) shown.add(message.client_message_id);
    // The client's own id where there is one: the row of a message that was on its way stays the same row.
    const key = message.client_message_id ?? message.message_id;
    const first = rows.at(-1)?.is !== "message" || !areTogether(said[index - 1], message);
    const last = !areTogether(message, said[index + 1]);
    const theirs = reactions.of.get(message.provider_message_id ?? "") ?? [];
    const late = dayBegun(message.timestamp) < day;
    rows.push({ is: "message", key, message, late, first, last, reactions: theirs, quoted: quotedIn(message.content) });
  });
  between.slice(next).forEach(happen);
  for (const each of refused) rows.push(waiting(each.message, each.code, quotedIn(each.message.content)));
  for (const message of outgoing)
    if (!shown.has(message.client_message_id)) rows.push(waiting(message, null, quotedIn(message.content)));
  return rows;
}

/** As far back as there are messages; with the moments at which the 24 hours after the customer's last word ended. */
function happened({ messages, cursor }: Thread, known: readonly Happening[], now: number): readonly Placed[] {
  const begin = cursor === null ? 0 : Date.parse(messages[0]?.timestamp ?? "");
  const found = known.map((one): Placed => ({ ...one, place: Date.parse(one.at) })).filter(({ place }) => place >= begin);
  const written = lastWords(messages);
  written.forEach(({ at, stored }, index) => {
    const end = at + WINDOW_MS;
    if (end >= (written[index + 1]?.at ?? now)) return;
    found.push({ key: `window:${end}`, at: new Date(end).toISOString(), deed: { is: "window" }, place: Math.max(end, stored + 1) });
  });
  return found.sort((a, b) => a.place - b.place);
}

/** A happening and when it takes its place among the messages: the 24 hours never end above the words that began them, however late those came. */
interface Placed extends Happening {
  readonly place: number;
}

/** What the customer wrote, without what came later than newer words: it begins no 24 hours of its own. */
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

/** 100 ns steps from 1582 to 1970, which a TimeUUID counts from. */
const BEFORE_1970 = 0x01b21dd213814000n;

/** When it was stored, as its id tells: a customer's own time has no more than seconds, and may come late. */
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
