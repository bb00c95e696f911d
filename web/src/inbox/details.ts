/** Whether who a customer is stands beside the thread; remembered, and at first so where there is room. */

import { useSyncExternalStore } from "react";

import { widthBesidePhone } from "../room/phone-shown";

const KEY = "waypost-details";
const WIDTH = 1240;
const ROOM = `(min-width: ${WIDTH}px)`;
const listeners = new Set<() => void>();

/** Also beside a demo's phone. */
const hasRoom = (): boolean => matchMedia(ROOM).matches && widthBesidePhone() >= WIDTH;

/** Over the thread on a small screen it is never there by itself. */
const isShown = (): boolean => {
  const kept = sessionStorage.getItem(KEY);
  return kept === null ? hasRoom() && localStorage.getItem(KEY) !== "no" : kept === "yes";
};

export function showDetails(shown: boolean): void {
  sessionStorage.setItem(KEY, shown ? "yes" : "no");
  if (hasRoom()) localStorage.setItem(KEY, shown ? "yes" : "no");
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
