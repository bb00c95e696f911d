/** Keeps a phone's screen current by long polling. */

import { useEffect, useState } from "react";

import { readScreen } from "./sandbox-api";
import type { Screen } from "./model";

export interface ScreenState {
  /** The latest screen of any phone: the list of phones and the faults are shared. */
  readonly screen: Screen | null;
  readonly away: boolean;
}

const AFTER_TROUBLE_MS = 1_500;
/** Limits updates to a few per second. */
const BETWEEN_MS = 80;
/** An empty response this early means that the server is shutting down. */
const TOO_SOON_MS = 500;

export function useScreen(phone: string): ScreenState {
  const [screenState, setScreenState] = useState<ScreenState>({ screen: null, away: false });
  useEffect(() => {
    const stopped = new AbortController();
    void follow(phone, setScreenState, stopped.signal);
    return () => stopped.abort();
  }, [phone]);
  return screenState;
}

async function follow(phone: string, show: (change: (known: ScreenState) => ScreenState) => void, signal: AbortSignal): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    await untilVisible(signal);
    const began = performance.now();
    try {
      const now = await readScreen(phone, after, signal);
      const nothing = now.version === after && performance.now() - began < TOO_SOON_MS;
      after = now.version;
      if (!signal.aborted) show(() => ({ screen: now, away: false }));
      await pause(nothing ? AFTER_TROUBLE_MS : BETWEEN_MS, signal);
    } catch {
      if (signal.aborted) return;
      after = 0;
      show((known) => ({ ...known, away: true }));
      await pause(AFTER_TROUBLE_MS, signal);
    }
  }
}

/** Pauses while the tab is hidden. */
function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
