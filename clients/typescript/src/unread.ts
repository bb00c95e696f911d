/** How many messages wait to be read, per conversation: the server's count, and what was applied since. */

import type { Conversation, Item } from "./protocol.js";

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

/** More are not told apart: who has so many unread is given the server's count at the next reading. */
const MOST_RECENT = 1_000;

export class Unread {
  readonly #counts = new Map<string, Counted>();
  /** Messages of others that were applied, for each conversation. */
  readonly #recent = new Map<string, readonly Recent[]>();

  /** Undefined: the server was not asked. */
  of(conversation: string): number | undefined {
    const counted = this.#counts.get(conversation);
    if (counted === undefined) return undefined;
    return (
      counted.count + this.#after(conversation, counted.upTo).filter(({ sender }) => waits(sender, counted.kind)).length
    );
  }

  /** What the server says; messages that it counted are not counted twice, those that came since are. */
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

/** In a customer's conversation only the customer waits for the team; among people everybody's words do. */
function waits(sender: string, kind: Conversation["kind"]): boolean {
  return kind !== "customer" || sender.startsWith("contact:");
}
