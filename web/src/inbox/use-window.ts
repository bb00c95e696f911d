/** Whether the customer may be answered freely: for 24 hours after they wrote, and only templates later. */

import { useEffect, useState } from "react";

import type { Conversation } from "../model";

export interface Window {
  readonly open: boolean;
  /** When it ends, or ended; null when the customer has not written lately. */
  readonly until: string | null;
}

const LOOK_EVERY_MS = 20_000;

/** The time, as it goes by. */
export function useNow(everyMs = LOOK_EVERY_MS): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const ticking = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(ticking);
  }, [everyMs]);
  return now;
}

/** Null where there is none: among people. */
export function useWindow({ kind, window_expires_at: until }: Conversation): Window | null {
  const now = Math.max(useNow(), Date.now());
  return kind === "customer" ? { open: until !== null && Date.parse(until) > now, until } : null;
}
