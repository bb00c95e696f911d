/** What was begun and not sent, for each conversation: there after a reload, and when one comes back to it. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
const keyOf = (conversation: string): string => `waypost-draft:${conversation}`;

export function setDraft(conversation: string, text: string): void {
  if (text === "") localStorage.removeItem(keyOf(conversation));
  else localStorage.setItem(keyOf(conversation), text);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useDraft(conversation: string): string {
  return useSyncExternalStore(subscribe, () => localStorage.getItem(keyOf(conversation)) ?? "");
}
