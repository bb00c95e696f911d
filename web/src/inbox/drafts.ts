/** What was begun and not sent, for each agent and conversation: there after a reload, and when one comes back to it. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
/** What the browser has no more room for: lost with the page, but it can be written and sent. */
const unkept = new Map<string, string>();
const keyOf = (me: string, conversation: string): string => `waypost-draft:${me}:${conversation}`;

export function setDraft(me: string, conversation: string, text: string): void {
  const key = keyOf(me, conversation);
  unkept.delete(key);
  try {
    if (text === "") localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    unkept.set(key, text);
  }
  for (const listener of listeners) listener();
}

export function draftOf(me: string, conversation: string): string {
  const key = keyOf(me, conversation);
  return unkept.get(key) ?? localStorage.getItem(key) ?? "";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useDraft(me: string, conversation: string): string {
  return useSyncExternalStore(subscribe, () => draftOf(me, conversation));
}
