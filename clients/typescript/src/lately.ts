/** What was done a moment ago, by name, so that it is not done again too soon. */

export class Lately {
  readonly #ms: number;
  readonly #done = new Map<string, number>();

  constructor(ms: number) {
    this.#ms = ms;
  }

  get size(): number {
    return this.#done.size;
  }

  /** True at most once in that time; what is longer ago is let go. */
  isDue(name: string, now: number): boolean {
    for (const [other, at] of this.#done) if (now - at >= this.#ms) this.#done.delete(other);
    if (this.#done.has(name)) return false;
    this.#done.set(name, now);
    return true;
  }
}
