/** Limits an action to once per interval for each name. */

export class Throttle {
  readonly #ms: number;
  readonly #done = new Map<string, number>();

  constructor(ms: number) {
    this.#ms = ms;
  }

  get size(): number {
    return this.#done.size;
  }

  /** True at most once per interval; expired entries are removed. */
  isDue(name: string, now: number): boolean {
    for (const [other, at] of this.#done) if (now - at >= this.#ms) this.#done.delete(other);
    if (this.#done.has(name)) return false;
    this.#done.set(name, now);
    return true;
  }
}
