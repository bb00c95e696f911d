/** What the feed tells while an answer is on its way: the answer may be older than that, so it is told again after it. */

import type { Item } from "@waypost/client";

import type { Conversation, Message } from "../model";
import { conversationWith, merged, withItem, type Thread } from "./changes";

type Items = readonly Item[];

export class Meanwhile {
  readonly #reads = new Set<Item[]>();

  hear(item: Item): void {
    for (const heard of this.#reads) heard.push(item);
  }

  /** Whatever is on its way answers a question that nobody has any more. */
  outdate(): void {
    this.#reads.clear();
  }

  /** `take` is given the answer with what was told since it was asked for; neither it nor a failure when it is outdated. */
  async during<Answer>(asked: Promise<Answer>, take: (answer: Answer, heard: Items) => void): Promise<void> {
    const heard: Item[] = [];
    this.#reads.add(heard);
    try {
      const answer = await asked;
      if (this.#reads.has(heard)) take(answer, heard);
    } catch (error) {
      if (this.#reads.has(heard)) throw error;
    } finally {
      this.#reads.delete(heard);
    }
  }
}

/** The conversation that is no more since it turned out to be this one's customer's. */
export const goneBy = ({ kind, gone }: Item): string | null => (kind === "joined" && typeof gone === "string" ? gone : null);

/** Positions and the row are others since: what was read before is of no use. */
export const wasJoined = (id: string, heard: Items): boolean =>
  heard.some((item) => goneBy(item) !== null && (item.conversation_id === id || goneBy(item) === id));

export const rowAfter = (row: Conversation, heard: Items): Conversation => about(row.conversation_id, heard).reduce(conversationWith, row);

/** A page of a thread, in whatever order, before what is there. */
export function threadAfter(now: Thread, id: string, page: readonly Message[], heard: Items): Thread {
  const read = { ...now, messages: page.toSorted((a, b) => a.position - b.position) };
  return { ...now, messages: merged(about(id, heard).reduce(withItem, read).messages, now.messages) };
}

export const about = (id: string, heard: Items): Items => heard.filter((item) => item.conversation_id === id);
