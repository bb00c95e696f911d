/** Unsent drafts by user and conversation; they survive a reload. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
/** Drafts that exceed the storage quota; they are lost when the page is closed. */
const unsaved = new Map<string, string>();
const keyOf = (me: string, conversation: string): string => `waypost-draft:${me}:${conversation}`;

export function setDraft(me: string, conversation: string, text: string): void {
  const key = keyOf(me, conversation);
  unsaved.delete(key);
  try {
    if (text === "") localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    unsaved.set(key, text);
  }
  for (const listener of listeners) listener();
}

export function draftOf(me: string, conversation: string): string {
  const key = keyOf(me, conversation);
  return unsaved.get(key) ?? localStorage.getItem(key) ?? "";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useDraft(me: string, conversation: string): string {
  return useSyncExternalStore(subscribe, () => draftOf(me, conversation));
}
