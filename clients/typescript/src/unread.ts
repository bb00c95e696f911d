/** The unread count of each conversation: the server's count plus messages applied since. */

import type { Conversation, Item } from "./types.js";

interface Counted {
  readonly count: number;
  /** The position up to which the server counted. */
  readonly upTo: number;
  readonly kind: Conversation["kind"];
}

interface Recent {
  readonly position: number;
  readonly sender: string;
}

/** Older entries are dropped; the next response from the server corrects the count. */
const MOST_RECENT = 1_000;

export class Unread {
  readonly #counts = new Map<string, Counted>();
  /** Applied messages from others, by conversation. */
  readonly #recent = new Map<string, readonly Recent[]>();

  /** Undefined: the server's count is not known. */
  of(conversation: string): number | undefined {
    const counted = this.#counts.get(conversation);
    if (counted === undefined) return undefined;
    return (
      counted.count + this.#after(conversation, counted.upTo).filter(({ sender }) => waits(sender, counted.kind)).length
    );
  }

  /** The server's count; messages up to its position are not counted twice. */
  counted({ conversation_id, kind, unread, last_message }: Conversation): void {
    const upTo = last_message?.position ?? 0;
    this.#counts.set(conversation_id, { count: unread, upTo, kind });
    this.#recent.set(conversation_id, this.#after(conversation_id, upTo));
  }

  applied({ kind, message }: Item, me: string | null): void {
    if (kind !== "message" || message == null || message.sender_id === me) return;
    const { conversation_id, position, sender_id: sender } = message;
    const recent = this.#recent.get(conversation_id) ?? [];
    this.#recent.set(conversation_id, [...recent, { position, sender }].slice(-MOST_RECENT));
  }

  forget(conversation: string): void {
    this.#counts.delete(conversation);
  }

  forgetAll(): void {
    this.#counts.clear();
    this.#recent.clear();
  }

  #after(conversation: string, position: number): readonly Recent[] {
    return (this.#recent.get(conversation) ?? []).filter((recent) => recent.position > position);
  }
}

/** In a customer conversation only the customer's messages count; in internal chats everyone's do. */
function waits(sender: string, kind: Conversation["kind"]): boolean {
  return kind !== "customer" || sender.startsWith("contact:");
}
