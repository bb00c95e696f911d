/** Time and chance, so that a test can bring its own. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs it once after so many milliseconds; what is returned prevents that. */
  after(ms: number, run: () => void): () => void;
}

export const REAL_CLOCK: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** At most one thing to do later; a new one replaces the old. */
export class Alarm {
  readonly #clock: Clock;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isSet(): boolean {
    return this.#cancel !== null;
  }

  set(ms: number, run: () => void): void {
    this.clear();
    this.#cancel = this.#clock.after(Math.max(0, ms), () => {
      this.#cancel = null;
      run();
    });
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
