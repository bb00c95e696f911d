/** When to look again at what is still to happen: soon at first, then less and less often. */

const SLOWER = 1.5;
const MOST_MS = 30_000;

/** After so many looks. */
export const waitAfter = (looks: number, firstMs: number): number => Math.min(MOST_MS, firstMs * SLOWER ** Math.max(0, looks));
