/** A thread as rows: days, messages, happenings, and what is still on its way, in the order in which they are read. */

import type { Outgoing } from "@waypost/client";

import type { ShownMessage, Thread } from "./changes";
import { dayOf } from "../time";

export interface Refused {
  readonly message: Outgoing;
  readonly code: string;
}

export type Row =
  | { readonly is: "day"; readonly key: string; readonly at: string }
  | { readonly is: "message"; readonly key: string; readonly message: ShownMessage; readonly first: boolean; readonly last: boolean }
  | { readonly is: "happening"; readonly key: string; readonly floor: string; readonly at: string }
  | { readonly is: "outgoing"; readonly key: string; readonly message: Outgoing; readonly refused: string | null };

/** Messages of one sender within this time stand close together. */
const TOGETHER_MS = 5 * 60_000;

export function rowsOf(thread: Thread, outgoing: readonly Outgoing[], refused: readonly Refused[]): readonly Row[] {
  const rows: Row[] = [];
  const shown = new Set<string>();
  let next = 0;
  thread.messages.forEach((message, index) => {
    const before = thread.messages[index - 1];
    const after = thread.messages[index + 1];
    while (next < thread.happenings.length && (thread.happenings[next]?.after ?? 0) < message.position) {
      push(rows, thread, next++);
    }
    // Above the first one only when there is nothing before it: a day that goes on upwards begins further up.
    if (before === undefined ? thread.cursor === null : dayOf(before.timestamp) !== dayOf(message.timestamp)) {
      rows.push({ is: "day", key: `day:${message.position}`, at: message.timestamp });
    }
    if (message.client_message_id !== null) shown.add(message.client_message_id);
    const first = !areTogether(before, message);
    // The client's own id where there is one: the row of a message that was on its way stays the same row.
    const key = message.client_message_id ?? message.message_id;
    rows.push({ is: "message", key, message, first, last: !areTogether(message, after) });
  });
  while (next < thread.happenings.length) push(rows, thread, next++);
  for (const each of refused) rows.push(waiting(each.message, each.code));
  for (const message of outgoing) if (!shown.has(message.client_message_id)) rows.push(waiting(message, null));
  return rows;
}

function push(rows: Row[], { happenings }: Thread, index: number): void {
  const happening = happenings[index];
  if (happening !== undefined) rows.push({ is: "happening", ...happening });
}

const waiting = (message: Outgoing, refused: string | null): Row => ({
  is: "outgoing",
  key: message.client_message_id,
  message,
  refused,
});

function areTogether(one: ShownMessage | undefined, other: ShownMessage | undefined): boolean {
  if (one === undefined || other === undefined || one.sender_id !== other.sender_id) return false;
  if ((one.content["type"] === "note") !== (other.content["type"] === "note")) return false;
  const gap = Date.parse(other.timestamp) - Date.parse(one.timestamp);
  return gap < TOGETHER_MS && dayOf(one.timestamp) === dayOf(other.timestamp);
}
