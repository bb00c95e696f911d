/** Whether and when to reconnect after a failure; pure functions, with the random number as an argument. */

import type { Timings } from "./timing.js";

/** Doubles from `base` to `cap` with each earlier failure; `random` (0 to 1) selects from the upper half. */
export function backoff(failures: number, random: number, base: number, cap: number): number {
  return Math.min(cap, base * 2 ** Math.min(failures, 40)) * (0.5 + random / 2);
}

export function reconnectDelay(failures: number, random: number, timings: Timings): number {
  return backoff(failures, random, timings.backoff_base, timings.backoff_cap);
}

export type ReconnectDecision = { readonly come_back: "backoff" | "going_away" } | { readonly stop: number };

/** The decision for a close code. */
export function afterClose(code: number): ReconnectDecision {
  if (code >= 4400 && code <= 4999) return { stop: code };
  return { come_back: code === 4001 ? "going_away" : "backoff" };
}
