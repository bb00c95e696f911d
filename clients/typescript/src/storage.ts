/** Where the client keeps what must survive it: the shape of `localStorage`, and one that only remembers. */

/** `localStorage` fits as it is. What `setItem` was given must be there after a crash. */
export interface KeyValue {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** For who needs nothing kept: gone with the page or process. */
export class MemoryStorage implements KeyValue {
  readonly #values = new Map<string, string>();
  #keys: readonly string[] | null = null;

  get length(): number {
    return this.#values.size;
  }

  key(index: number): string | null {
    this.#keys ??= [...this.#values.keys()];
    return this.#keys[index] ?? null;
  }

  getItem(key: string): string | null {
    return this.#values.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    if (!this.#values.has(key)) this.#keys = null;
    this.#values.set(key, value);
  }

  removeItem(key: string): void {
    if (this.#values.delete(key)) this.#keys = null;
  }
}
