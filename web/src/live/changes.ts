/** Applies feed items to threads and conversations. Pure, so that every order of arrival can be tested. */

import type { Item } from "@waypost/client";

import type { Conversation, Message, MessageStatus } from "../model";
import { isFromCustomer } from "../display-text";

export interface Thread {
  /** Oldest first, without gaps. */
  readonly messages: readonly Message[];
  /** Incremented with every change of the handler, the assignee or the state. */
  readonly changes: number;
  /** The cursor of the previous page; null if there is none. */
  readonly cursor: string | null;
  readonly reading: boolean;
  readonly failed: boolean;
}

export const UNREAD_THREAD: Thread = { messages: [], changes: 0, cursor: null, reading: true, failed: false };

/** Each message once, by position; the later version wins. */
export function merged(known: readonly Message[], more: readonly Message[]): readonly Message[] {
  const newest = known.at(-1)?.position ?? -1;
  if (more.length === 1 && more[0] !== undefined && more[0].position > newest) return [...known, more[0]];
  const byPosition = new Map(known.map((message) => [message.position, message]));
  for (const message of more) byPosition.set(message.position, message);
  return [...byPosition.values()].sort((a, b) => a.position - b.position);
}

export function withItem(thread: Thread, item: Item): Thread {
  switch (item.kind) {
    case "message":
      return item.message == null ? thread : { ...thread, messages: merged(thread.messages, [item.message as unknown as Message]) };
    case "status":
      return changed(thread, String(item["message_id"]), (message) => withStatus(message, item));
    case "deleted":
      return changed(thread, String(item["message_id"]), (message) => ({ ...message, content: { type: "deleted" } }));
    case "floor":
    case "assigned":
      return { ...thread, changes: thread.changes + 1 };
    default:
      return thread;
  }
}

function changed(thread: Thread, id: string, change: (message: Message) => Message): Thread {
  const index = thread.messages.findLastIndex(({ message_id }) => message_id === id);
  const message = thread.messages[index];
  return message === undefined ? thread : { ...thread, messages: thread.messages.with(index, change(message)) };
}

function withStatus(message: Message, item: Item): Message {
  const status = (item["status"] ?? null) as MessageStatus;
  const error = (item["error"] ?? null) as Message["error"];
  const named = item["provider_message_id"];
  return { ...message, status, error, ...(typeof named === "string" && { provider_message_id: named }) };
}

/** The conversation after an item; the same object if nothing changed. */
export function conversationWith(conversation: Conversation, item: Item): Conversation {
  const last = conversation.last_message;
  switch (item.kind) {
    case "message": {
      const message = item.message as unknown as Message | null | undefined;
      if (message == null || (last !== null && message.position < last.position)) return conversation;
      return { ...conversation, last_message: message, active_at: later(conversation.active_at, String(item["at"])), ...windowAfter(conversation, message) };
    }
    case "status":
      if (last?.message_id !== item["message_id"]) return conversation;
      return { ...conversation, last_message: withStatus(last as Message, item) };
    case "deleted":
      if (last?.message_id !== item["message_id"]) return conversation;
      return { ...conversation, last_message: { ...last, content: { type: "deleted" } } as Message };
    case "floor":
      return { ...conversation, floor: String(item["floor"]) };
    case "assigned":
      return {
        ...conversation,
        assignee: (item["assignee"] ?? null) as string | null,
        state: String(item["state"] ?? conversation.state),
        labels: (item["labels"] ?? conversation.labels) as string[],
      };
    case "members":
      return { ...conversation, title: (item["title"] ?? conversation.title) as string | null };
    default:
      return conversation;
  }
}

/** The length of the window after a customer's message. */
export const WINDOW_MS = 24 * 3_600_000;

/** A customer's message opens the window from its own timestamp; a system message does not. */
function windowAfter({ window_expires_at: known }: Conversation, { sender_id, content, timestamp }: Message): Partial<Conversation> {
  if (!isFromCustomer(sender_id) || content["type"] === "system") return {};
  const until = new Date(Date.parse(timestamp) + WINDOW_MS).toISOString();
  return { window_expires_at: known === null ? until : later(known, until) };
}

const later = (one: string, other: string): string => (Date.parse(other) > Date.parse(one) ? other : one);

/** Cached by row: a long list is sorted again with every change. */
const moments = new WeakMap<Conversation, number>();

function momentOf(conversation: Conversation): number {
  const known = moments.get(conversation);
  if (known !== undefined) return known;
  const moment = Date.parse(conversation.active_at);
  moments.set(conversation, moment);
  return moment;
}

/** Latest first. */
export function byActivity(a: Conversation, b: Conversation): number {
  return momentOf(b) - momentOf(a) || Number(b.conversation_id) - Number(a.conversation_id);
}
