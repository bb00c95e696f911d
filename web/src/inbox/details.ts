/** Whether who a customer is stands beside the thread; remembered, and at first so where there is room. */

import { useSyncExternalStore } from "react";

const KEY = "waypost-details";
const ROOM = "(min-width: 1240px)";
const listeners = new Set<() => void>();

/** Over the thread on a small screen it is never there by itself. */
const isShown = (): boolean => {
  const kept = sessionStorage.getItem(KEY);
  return kept === null ? matchMedia(ROOM).matches && localStorage.getItem(KEY) !== "no" : kept === "yes";
};

export function showDetails(shown: boolean): void {
  sessionStorage.setItem(KEY, shown ? "yes" : "no");
  if (matchMedia(ROOM).matches) localStorage.setItem(KEY, shown ? "yes" : "no");
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  const room = matchMedia(ROOM);
  listeners.add(listener);
  room.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    room.removeEventListener("change", listener);
  };
}

export const useDetails = (): readonly [boolean, (shown: boolean) => void] => [useSyncExternalStore(subscribe, isShown), showDetails];
