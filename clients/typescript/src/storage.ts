/** Key-value storage: the interface of `localStorage`, and an in-memory implementation. */

/** `localStorage` implements it. Values must survive a crash once `setItem` has returned. */
export interface KeyValue {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Lost with the page or process. */
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
