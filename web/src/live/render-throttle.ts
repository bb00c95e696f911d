/** Schedules rendering on the next frame, or later if rendering is slow, so that the page stays responsive. */

const HIDDEN_EVERY_MS = 250;
/** After a render longer than this, twice its duration is left for user input, up to a limit. */
const LONG_MS = 8;
const MOST_REST_MS = 150;

export class RenderThrottle {
  #restsUntil = 0;

  /** Calls `show` once. */
  schedule(show: () => void): void {
    const timed = () => {
      const began = performance.now();
      show();
      queueMicrotask(() => this.#rest(began)); // after React's own microtask
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
