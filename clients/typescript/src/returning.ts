/** Whether to come back after a failure, and after how long: decisions, with the dice as an argument. */

import type { Timings } from "./timings.js";

/** Doubles from `base` to `cap` with the failures before this one; the dice (0 to 1) spread clients over the upper half. */
export function jittered(failures: number, dice: number, base: number, cap: number): number {
  const whole = Math.min(cap, base * 2 ** Math.min(failures, 40));
  return whole * (0.5 + dice / 2);
}

export function pause(failures: number, dice: number, timings: Timings): number {
  return jittered(failures, dice, timings.backoff_base, timings.backoff_cap);
}

/** How the life of one socket ended. */
export interface Ending {
  readonly code: number;
  readonly opened: boolean;
}

export type Return =
  | { readonly do: "stop"; readonly code: number }
  /** No socket may be possible here: ask by REST. */
  | { readonly do: "ask" }
  | { readonly do: "wait"; readonly ms: number; readonly failed: boolean };

/** What follows when a socket ended. */
export function afterEnding(ending: Ending, failures: number, dice: number, timings: Timings): Return {
  if (ending.code >= 4400 && ending.code <= 4999) return { do: "stop", code: ending.code };
  if (!ending.opened) return { do: "ask" };
  if (ending.code === 4001) return { do: "wait", ms: timings.going_away * dice, failed: false };
  return { do: "wait", ms: pause(failures, dice, timings), failed: true };
}

export type Meaning = "done" | "not_allowed_in" | "later" | "refused";

/** What an HTTP status says about the request that it answers. */
export function meaningOf(status: number): Meaning {
  if (status >= 200 && status < 300) return "done";
  if (status === 401) return "not_allowed_in";
  if (status === 408 || status === 425 || status === 429 || status >= 500 || status < 400) return "later";
  return "refused";
}
