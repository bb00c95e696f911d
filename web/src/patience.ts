/** When to look again at what is still to happen: soon at first, then less and less often. */

const SLOWER = 1.5;
const MOST_MS = 30_000;

/** After so many looks. */
export const waitAfter = (looks: number, firstMs: number): number => Math.min(MOST_MS, firstMs * SLOWER ** Math.max(0, looks));

interface Asked {
  readonly status: string;
  readonly errorUpdateCount: number;
}

/** As often as is wanted while the server answers; one that does not is left in peace for longer and longer. */
export const everyUnlessFailing = ({ status, errorUpdateCount }: Asked, everyMs: number): number =>
  status === "error" ? waitAfter(errorUpdateCount, everyMs) : everyMs;
