/** Whether the customer panel is visible: on wide screens unless closed, on narrow ones only on request. */

import { useEffect, useSyncExternalStore, type RefObject } from "react";

const KEY = "waypost-details";
/** The inbox width in pixels that fits all three columns; `inbox.module.css` uses the same value. */
const ENOUGH = 1080;

const listeners = new Set<() => void>();
let room = false;
/** Shown on top of the thread, on narrow screens. */
let over = false;

const isShown = (): boolean => (room ? localStorage.getItem(KEY) !== "no" : over);

export function showDetails(shown: boolean): void {
  if (room) localStorage.setItem(KEY, shown ? "yes" : "no");
  else over = shown;
  notify();
}

/** A newly opened thread is not covered by the panel. */
export function uncover(): void {
  over = false;
  notify();
}

const notify = (): void => listeners.forEach((listener) => listener());

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useDetails = (): readonly [boolean, (shown: boolean) => void] => [useSyncExternalStore(subscribe, isShown), showDetails];

/** The inbox may fill only a part of the window, so its own width is measured. */
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
