/** The address: `/inbox` is the list, `/inbox/{id}` a conversation; the browser's own way back works. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
}

export const conversationIn = (path: string): string | null => /^\/inbox\/(\d+)$/.exec(path)?.[1] ?? null;

export function useConversationInPath(): string | null {
  return useSyncExternalStore(subscribe, () => conversationIn(location.pathname));
}

export function goTo(conversation: string | null): void {
  const path = conversation === null ? "/inbox" : `/inbox/${conversation}`;
  if (location.pathname === path) return;
  history.pushState(null, "", path);
  for (const listener of listeners) listener();
}
