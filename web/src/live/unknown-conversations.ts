/** Loads conversations that are not in the store yet: a few one by one, many with the newest page of the list. */

const ONE_BY_ONE = 3;
const BETWEEN_PAGES_MS = 250;

export class UnknownConversations {
  readonly #loadOne: (id: string) => Promise<void>;
  readonly #loadPage: () => Promise<void>;
  #waiting = new Set<string>();
  #loading: readonly string[] | null = null;

  /** Both functions keep feed items that arrive while they run. */
  constructor(loadOne: (id: string) => Promise<void>, loadPage: () => Promise<void>) {
    this.#loadOne = loadOne;
    this.#loadPage = loadPage;
  }

  /** A conversation that is not found is loaded again with its next item. */
  load(id: string): void {
    if (this.#loading?.includes(id)) return;
    this.#waiting.add(id);
    if (this.#loading === null) void this.#loadAll();
  }

  async #loadAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#loading = [...this.#waiting];
      this.#waiting = new Set();
      if (this.#loading.length <= ONE_BY_ONE) await Promise.all(this.#loading.map((id) => this.#loadOne(id)));
      else await this.#loadNewestPage();
    }
    this.#loading = null;
  }

  async #loadNewestPage(): Promise<void> {
    await this.#loadPage();
    this.#loading = []; // items from now on are not in the response
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_PAGES_MS));
  }
}
