/** The 24-hour window: after it closes, only templates can be sent. */

import { useEffect, useState } from "react";

import type { Conversation } from "../model";

export interface Window {
  readonly open: boolean;
  /** When it closes or closed; null if it was not open recently. */
  readonly until: string | null;
}

const LOOK_EVERY_MS = 20_000;

/** The current time, updated periodically. */
export function useNow(everyMs = LOOK_EVERY_MS): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const ticking = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(ticking);
  }, [everyMs]);
  return now;
}

/** Null for internal chats. */
export function useWindow({ kind, window_expires_at: until }: Conversation): Window | null {
  const now = Math.max(useNow(), Date.now());
  return kind === "customer" ? { open: until !== null && Date.parse(until) > now, until } : null;
}
