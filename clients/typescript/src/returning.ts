/** Whether to come back after a failure, and after how long: decisions, with the dice as an argument. */

import type { Timings } from "./timings.js";

/** Doubles from `base` to `cap` with the failures before this one; the dice (0 to 1) choose from the upper half. */
export function jittered(failures: number, dice: number, base: number, cap: number): number {
  return Math.min(cap, base * 2 ** Math.min(failures, 40)) * (0.5 + dice / 2);
}

export function pause(failures: number, dice: number, timings: Timings): number {
  return jittered(failures, dice, timings.backoff_base, timings.backoff_cap);
}

export type Return = { readonly come_back: "backoff" | "going_away" } | { readonly stop: number };

/** What a close code asks for. */
export function afterClose(code: number): Return {
  if (code >= 4400 && code <= 4999) return { stop: code };
  return { come_back: code === 4001 ? "going_away" : "backoff" };
}
