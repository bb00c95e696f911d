/** Whether who a customer is stands beside the thread: where there is room unless somebody closed it, else only when asked for. */

import { useEffect, useSyncExternalStore, type RefObject } from "react";

const KEY = "waypost-details";
/** Pixels of the inbox that are enough for all three; `inbox.module.css` has the same number. */
const ENOUGH = 1080;

const listeners = new Set<() => void>();
let room = false;
/** Over the thread, where there is no room beside it. */
let over = false;

const isShown = (): boolean => (room ? localStorage.getItem(KEY) !== "no" : over);

export function showDetails(shown: boolean): void {
  if (room) localStorage.setItem(KEY, shown ? "yes" : "no");
  else over = shown;
  tell();
}

/** Nothing lies over a thread that was just opened. */
export function uncover(): void {
  over = false;
  tell();
}

const tell = (): void => listeners.forEach((listener) => listener());

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useDetails = (): readonly [boolean, (shown: boolean) => void] => [useSyncExternalStore(subscribe, isShown), showDetails];

/** The inbox may have only a part of the screen: its own width says whether there is room. */
export function useRoom(frame: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) => {
      const has = (entry?.contentRect.width ?? 0) >= ENOUGH;
      if (has === room) return;
      room = has;
      uncover();
    });
    if (frame.current !== null) watching.observe(frame.current);
    return () => watching.disconnect();
  }, [frame]);
}
