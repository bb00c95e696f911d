/** The page's URL, which selects what is shown; browser history works. */

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

/** A part of the URL; `select` must return the same value for the same URL. */
export function useAddress<Value>(select: (address: Location) => Value): Value {
  return useSyncExternalStore(subscribe, () => select(location));
}

export const partIn = ({ pathname }: Pick<Location, "pathname">): Part =>
  /^\/console(\/|$)/.test(pathname) ? "console" : /^\/phones(\/|$)/.test(pathname) ? "phones" : "inbox";

/** Navigates to a path with its query, such as `/console/outbox?status=FAILED`. */
export function go(to: string, how: "push" | "replace" = "push"): void {
  if (location.pathname + location.search === to) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  for (const listener of listeners) listener();
}

/** Link properties for client-side navigation; modified clicks are left to the browser. */
export const linkTo = (to: string) => ({
  href: to,
  onClick: (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  },
});
