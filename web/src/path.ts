/** The address of the page, which says what it shows; the browser's own way back works. */

import { useSyncExternalStore, type MouseEvent } from "react";

export type Part = "inbox" | "console" | "phones";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
}

/** A part of the address; `select` gives the same value as long as that part is the same. */
export function useAddress<Value>(select: (address: Location) => Value): Value {
  return useSyncExternalStore(subscribe, () => select(location));
}

export const partIn = ({ pathname }: Pick<Location, "pathname">): Part =>
  /^\/console(\/|$)/.test(pathname) ? "console" : /^\/phones(\/|$)/.test(pathname) ? "phones" : "inbox";

/** To a path with its query, such as `/console/outbox?status=FAILED`. */
export function go(to: string, how: "push" | "replace" = "push"): void {
  if (location.pathname + location.search === to) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  for (const listener of listeners) listener();
}

/** What a link needs to go there without loading the page anew; with a key held down the browser does what it always does. */
export const linkTo = (to: string) => ({
  href: to,
  onClick: (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  },
});
