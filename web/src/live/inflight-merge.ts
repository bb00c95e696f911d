/** Records feed items while a request is in flight, and applies them to the response, which may be older. */

import type { Item } from "@waypost/client";

import type { Conversation, Message } from "../model";
import { conversationWith, merged, withItem, type Thread } from "./changes";

type Items = readonly Item[];

export class InflightMerge {
  readonly #recordings = new Set<Item[]>();

  record(item: Item): void {
    for (const items of this.#recordings) items.push(item);
  }

  /** Discards all pending responses. */
  invalidate(): void {
    this.#recordings.clear();
  }

  /** Calls `take` with the response and the items since the request; a discarded request calls nothing and does not throw. */
  async run<Response>(request: Promise<Response>, take: (response: Response, items: Items) => void): Promise<void> {
    const items: Item[] = [];
    this.#recordings.add(items);
    try {
      const response = await request;
      if (this.#recordings.has(items)) take(response, items);
    } catch (error) {
      if (this.#recordings.has(items)) throw error;
    } finally {
      this.#recordings.delete(items);
    }
  }
}

/** The conversation that was merged into this one, or null. */
export const removedBy = ({ kind, gone }: Item): string | null => (kind === "joined" && typeof gone === "string" ? gone : null);

/** After a merge, positions and rows have changed: data requested before is discarded. */
export const wasMerged = (id: string, items: Items): boolean =>
  items.some((item) => removedBy(item) !== null && (item.conversation_id === id || removedBy(item) === id));

export const rowAfter = (row: Conversation, items: Items): Conversation => itemsFor(row.conversation_id, items).reduce(conversationWith, row);

/** Merges a page of a thread, in any order, with the loaded messages. */
export function threadAfter(now: Thread, id: string, page: readonly Message[], items: Items): Thread {
  const read = { ...now, messages: page.toSorted((a, b) => a.position - b.position) };
  return { ...now, messages: merged(itemsFor(id, items).reduce(withItem, read).messages, now.messages) };
}

export const itemsFor = (id: string, items: Items): Items => items.filter((item) => item.conversation_id === id);
