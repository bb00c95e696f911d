/** A relative time such as "5 min ago", with the exact time as a tooltip; all are updated together. */

import { useSyncExternalStore } from "react";

import { words } from "../texts";
import { agoWords, exactly } from "./time";

const EVERY_MS = 5_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, EVERY_MS);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** The current time, accurate to a few seconds. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

export function Moment({ at }: { readonly at: string | null | undefined }) {
  const current = useNow();
  if (at === null || at === undefined) return <>{words.none}</>;
  return (
    <time dateTime={at} title={exactly(at)}>
      {agoWords(at, current)}
    </time>
  );
}
