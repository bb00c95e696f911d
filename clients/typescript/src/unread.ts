/** How many messages of others wait to be read, per conversation: the server's count, and what was applied since. */

import type { Conversation, Item } from "./protocol.js";

interface Count {
  /** What the server counted, up to this position. */
  readonly count: number;
  readonly upTo: number;
}

/** More are not told apart: who has so many unread is given the server's count at the next reading. */
const MOST_RECENT = 1_000;

export class Unread {
  readonly #counts = new Map<string, Count>();
  /** Positions of messages of others that were applied, for each conversation. */
  readonly #recent = new Map<string, number[]>();

  /** Undefined: the server was not asked. */
  of(conversation: string): number | undefined {
    const counted = this.#counts.get(conversation);
    if (counted === undefined) return undefined;
    return counted.count + this.#after(conversation, counted.upTo).length;
  }

  /** What the server says; messages that it counted are not counted twice, those that came since are. */
  counted({ conversation_id, unread, last_message }: Conversation): void {
    const upTo = last_message?.position ?? 0;
    this.#counts.set(conversation_id, { count: unread, upTo });
    this.#recent.set(conversation_id, this.#after(conversation_id, upTo));
  }

  applied({ kind, message }: Item, me: string | null): void {
    if (kind !== "message" || message === undefined || message.sender_id === me) return;
    const recent = this.#recent.get(message.conversation_id) ?? [];
    this.#recent.set(message.conversation_id, [...recent, message.position].slice(-MOST_RECENT));
  }

  forget(conversation: string): void {
    this.#counts.delete(conversation);
  }

  forgetAll(): void {
    this.#counts.clear();
    this.#recent.clear();
  }

  #after(conversation: string, position: number): number[] {
    return (this.#recent.get(conversation) ?? []).filter((recent) => recent > position);
  }
}
