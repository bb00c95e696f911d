/** Polling intervals that grow over time. */

const SLOWER = 1.5;
const MOST_MS = 30_000;

/** The delay after `looks` polls. */
export const backoffDelay = (looks: number, firstMs: number): number => Math.min(MOST_MS, firstMs * SLOWER ** Math.max(0, looks));

interface QueryStatus {
  readonly status: string;
  readonly errorUpdateCount: number;
}

/** A constant interval while the server responds; a growing one while it fails. */
export const pollInterval = ({ status, errorUpdateCount }: QueryStatus, everyMs: number): number =>
  status === "error" ? backoffDelay(errorUpdateCount, everyMs) : everyMs;
