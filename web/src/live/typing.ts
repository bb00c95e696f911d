/** Typing indicators: each event is shown for a short time, and the next one renews it. */

const SHOWN_MS = 4_000;

export class Typing {
  readonly #ends = new Map<string, ReturnType<typeof setTimeout>>();

  /** Calls `ended` when no further event has arrived. */
  seen(conversation: string, ended: () => void): void {
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
