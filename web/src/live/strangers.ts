/** Conversations that something came of before they were known: few are asked for one by one, many by the newest page of the list, which has them. */

const ONE_BY_ONE = 3;
const BETWEEN_PAGES_MS = 250;

export class Strangers {
  readonly #byName: (id: string) => Promise<void>;
  readonly #byPage: () => Promise<void>;
  #waiting = new Set<string>();
  #asked: readonly string[] | null = null;

  /** Either question keeps what is told of a conversation while it is on its way. */
  constructor(byName: (id: string) => Promise<void>, byPage: () => Promise<void>) {
    this.#byName = byName;
    this.#byPage = byPage;
  }

  /** What is not found now is asked for again when more comes of it. */
  ask(id: string): void {
    if (this.#asked?.includes(id)) return;
    this.#waiting.add(id);
    if (this.#asked === null) void this.#askAll();
  }

  async #askAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#asked = [...this.#waiting];
      this.#waiting = new Set();
      if (this.#asked.length <= ONE_BY_ONE) await Promise.all(this.#asked.map((id) => this.#byName(id)));
      else await this.#page();
    }
    this.#asked = null;
  }

  async #page(): Promise<void> {
    await this.#byPage();
    this.#asked = []; // what comes from now on is not in the answer
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_PAGES_MS));
  }
}
