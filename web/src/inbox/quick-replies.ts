/** Answers that are given often. Kept in this browser: they are somebody's own way of saying things. */

import { useSyncExternalStore } from "react";

import { texts } from "../texts";

export interface QuickReply {
  readonly name: string;
  readonly text: string;
}

const KEY = "waypost-quick-replies";
const listeners = new Set<() => void>();
let known: { readonly stored: string | null; readonly replies: readonly QuickReply[] } | null = null;

export function quickReplies(): readonly QuickReply[] {
  const stored = localStorage.getItem(KEY);
  if (known === null || known.stored !== stored) known = { stored, replies: stored === null ? texts.quick.first : read(stored) };
  return known.replies;
}

/** Whatever is stored there: another program may have written it. */
export function read(stored: string): readonly QuickReply[] {
  try {
    const found: unknown = JSON.parse(stored);
    if (!Array.isArray(found)) return [];
    return found.flatMap((each: unknown) => {
      const { name, text } = (each ?? {}) as Partial<QuickReply>;
      return typeof name === "string" && typeof text === "string" ? [{ name, text }] : [];
    });
  } catch {
    return [];
  }
}

export function setQuickReplies(replies: readonly QuickReply[]): void {
  localStorage.setItem(KEY, JSON.stringify(replies));
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useQuickReplies = (): readonly QuickReply[] => useSyncExternalStore(subscribe, quickReplies);

/** Those that a text such as `/tha` asks for; null when it asks for none. */
export function askedFor(text: string, replies: readonly QuickReply[]): readonly QuickReply[] | null {
  const asked = /^\/([^\n]*)$/.exec(text)?.[1]?.trim().toLowerCase();
  if (asked === undefined) return null;
  return replies.filter(({ name, text: words }) => name.toLowerCase().startsWith(asked) || words.toLowerCase().includes(asked));
}

/** `{name}` is the customer's. */
export const filledIn = (text: string, name: string): string => text.replaceAll("{name}", () => name);
