/** Conversations that something came of before they were known: few are asked for one by one, many by the newest page of the list, which has them. */

import type { WaypostClient } from "@waypost/client";

import type { Conversation } from "../model";

const ONE_BY_ONE = 3;
const BETWEEN_PAGES_MS = 250;

type Asked = Pick<WaypostClient, "conversation" | "conversations">;

export class Strangers {
  readonly #client: Asked;
  readonly #known: (id: string) => Conversation | undefined;
  readonly #found: (row: Conversation) => void;
  #waiting = new Set<string>();
  #asking = false;

  constructor(client: Asked, known: (id: string) => Conversation | undefined, found: (row: Conversation) => void) {
    this.#client = client;
    this.#known = known;
    this.#found = found;
  }

  /** What is not found now is asked for again when more comes of it. */
  ask(id: string): void {
    this.#waiting.add(id);
    if (!this.#asking) void this.#askAll();
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting];
      this.#waiting = new Set(); // what comes while the question is on its way is a question of its own
      if (ids.length <= ONE_BY_ONE) await Promise.all(ids.map((id) => this.#one(id)));
      else await this.#page();
    }
    this.#asking = false;
  }

  async #one(id: string): Promise<void> {
    const row = await this.#client.conversation(id).catch(() => null);
    if (row !== null) this.#meet(row as unknown as Conversation);
  }

  async #page(): Promise<void> {
    const page = await this.#client.conversations().catch(() => null);
    for (const row of page?.conversations ?? []) this.#meet(row as unknown as Conversation);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_PAGES_MS));
  }

  /** What was heard of it meanwhile is not undone. */
  #meet(row: Conversation): void {
    const known = this.#known(row.conversation_id);
    if (known === undefined || (row.last_message?.position ?? 0) > (known.last_message?.position ?? 0)) this.#found(row);
  }
}
