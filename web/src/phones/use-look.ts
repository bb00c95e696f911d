/** A phone that is looked at: its screen follows what happens, by calls that wait for the next change. */

import { useEffect, useState } from "react";

import { look } from "./calls";
import type { Look } from "./model";

export interface Watched {
  /** The latest of any phone: who is where, and the faults, are the same on all. */
  readonly look: Look | null;
  readonly away: boolean;
}

const AFTER_TROUBLE_MS = 1_500;
/** A storm of changes is shown a few times a second. */
const BETWEEN_MS = 80;
/** An answer that came this soon and tells nothing new is of a server that is going away. */
const TOO_SOON_MS = 500;

export function useLook(phone: string): Watched {
  const [watched, setWatched] = useState<Watched>({ look: null, away: false });
  useEffect(() => {
    const stopped = new AbortController();
    void follow(phone, setWatched, stopped.signal);
    return () => stopped.abort();
  }, [phone]);
  return watched;
}

async function follow(phone: string, show: (change: (known: Watched) => Watched) => void, signal: AbortSignal): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    await seen(signal);
    const began = performance.now();
    try {
      const now = await look(phone, after, signal);
      const nothing = now.version === after && performance.now() - began < TOO_SOON_MS;
      after = now.version;
      if (!signal.aborted) show(() => ({ look: now, away: false }));
      await pause(nothing ? AFTER_TROUBLE_MS : BETWEEN_MS, signal);
    } catch {
      if (signal.aborted) return;
      after = 0;
      show((known) => ({ ...known, away: true }));
      await pause(AFTER_TROUBLE_MS, signal);
    }
  }
}

/** Nobody looks at a tab that is behind another one. */
function seen(signal: AbortSignal): Promise<void> {
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
