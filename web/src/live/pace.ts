/** When to show what came: with the next frame, or later where showing takes so long that the page would do nothing else. */

const HIDDEN_EVERY_MS = 250;
/** Where it took longer than this, twice as long is left for what the person does, up to a limit. */
const LONG_MS = 8;
const MOST_REST_MS = 150;

export class Pace {
  #restsUntil = 0;

  /** Once. */
  next(show: () => void): void {
    const timed = () => {
      const began = performance.now();
      show();
      queueMicrotask(() => this.#rest(began)); // React draws before it, in a microtask of its own
    };
    const wait = this.#restsUntil - performance.now();
    if (document.hidden) setTimeout(timed, HIDDEN_EVERY_MS);
    else if (wait > 0) setTimeout(() => requestAnimationFrame(timed), wait);
    else requestAnimationFrame(timed);
  }

  #rest(began: number): void {
    const now = performance.now();
    const took = now - began;
    this.#restsUntil = took > LONG_MS ? now + Math.min(2 * took, MOST_REST_MS) : now;
  }
}
