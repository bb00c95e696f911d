/** What a change does to what is on the screen: pure, so that every order of arrival can be tried. */

import type { Item } from "@waypost/client";

import type { Conversation, Message, MessageStatus } from "../model";

/** A message with the reason why it failed, where that was told. */
export interface ShownMessage extends Message {
  readonly failure?: { readonly code: string | null; readonly said: string | null };
}

/** Something that happened between two messages: only what was seen live is known. */
export interface Happening {
  readonly key: string;
  readonly at: string;
  /** The last message before it. */
  readonly after: number;
  readonly floor: string;
}

export interface Thread {
  /** Oldest first, without a gap. */
  readonly messages: readonly ShownMessage[];
  readonly happenings: readonly Happening[];
  /** For what came before; null when this is everything. */
  readonly cursor: string | null;
  readonly reading: boolean;
  readonly failed: boolean;
}

export const UNREAD_THREAD: Thread = { messages: [], happenings: [], cursor: null, reading: true, failed: false };

/** Each message once, by position; of two the later one told counts, but a known failure is not forgotten. */
export function merged(known: readonly ShownMessage[], more: readonly ShownMessage[]): readonly ShownMessage[] {
  const newest = known.at(-1)?.position ?? -1;
  if (more.length === 1 && more[0] !== undefined && more[0].position > newest) return [...known, more[0]];
  const byPosition = new Map(known.map((message) => [message.position, message]));
  for (const message of more) byPosition.set(message.position, { ...byPosition.get(message.position), ...message });
  return [...byPosition.values()].sort((a, b) => a.position - b.position);
}

export function withItem(thread: Thread, item: Item): Thread {
  switch (item.kind) {
    case "message":
      return item.message == null ? thread : { ...thread, messages: merged(thread.messages, [item.message as Message]) };
    case "status":
      return changed(thread, String(item["message_id"]), (message) => withStatus(message, item));
    case "deleted":
      return changed(thread, String(item["message_id"]), (message) => ({ ...message, content: { type: "deleted" } }));
    case "floor":
      return { ...thread, happenings: [...thread.happenings, happening(thread, item)] };
    default:
      return thread;
  }
}

function changed(thread: Thread, id: string, change: (message: ShownMessage) => ShownMessage): Thread {
  const index = thread.messages.findLastIndex(({ message_id }) => message_id === id);
  const message = thread.messages[index];
  return message === undefined ? thread : { ...thread, messages: thread.messages.with(index, change(message)) };
}

function withStatus(message: ShownMessage, item: Item): ShownMessage {
  const status = (item["status"] ?? null) as MessageStatus;
  if (status !== "failed") return { ...message, status };
  return { ...message, status, failure: { code: textOrNull(item["error_code"]), said: textOrNull(item["error"]) } };
}

function happening(thread: Thread, item: Item): Happening {
  const after = thread.messages.at(-1)?.position ?? 0;
  return { key: `${item.feed}:${item.seq}`, at: String(item["at"]), after, floor: String(item["floor"]) };
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** The row of a conversation after a change; the same one where nothing of it changed. */
export function conversationWith(conversation: Conversation, item: Item): Conversation {
  const last = conversation.last_message;
  switch (item.kind) {
    case "message": {
      const message = item.message as Message | null | undefined;
      if (message == null || (last !== null && message.position < last.position)) return conversation;
      return { ...conversation, last_message: message };
    }
    case "status":
      if (last?.message_id !== item["message_id"]) return conversation;
      return { ...conversation, last_message: { ...last, status: (item["status"] ?? null) as MessageStatus } as Message };
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

/** When something was last said there. */
export const activity = ({ last_message, created_at }: Conversation): string => last_message?.timestamp ?? created_at;

/** Read once for each row: a list of many is sorted again with every change. */
const moments = new WeakMap<Conversation, number>();

function momentOf(conversation: Conversation): number {
  const known = moments.get(conversation);
  if (known !== undefined) return known;
  const moment = Date.parse(activity(conversation));
  moments.set(conversation, moment);
  return moment;
}

/** The latest first. */
export function byActivity(a: Conversation, b: Conversation): number {
  return momentOf(b) - momentOf(a) || Number(b.conversation_id) - Number(a.conversation_id);
}
