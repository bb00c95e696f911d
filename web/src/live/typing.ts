/** Who writes just now, for as long as it is likely: each sign lasts a little, and the next one renews it. */

const SHOWN_MS = 4_000;

export class Typing {
  readonly #ends = new Map<string, ReturnType<typeof setTimeout>>();

  /** `ended` once nothing more was told of that conversation. */
  told(conversation: string, ended: () => void): void {
    clearTimeout(this.#ends.get(conversation));
    this.#ends.set(
      conversation,
      setTimeout(() => {
        this.#ends.delete(conversation);
        ended();
      }, SHOWN_MS),
    );
  }
}
