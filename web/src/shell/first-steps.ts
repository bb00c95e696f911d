/** The completed steps of the demo's introduction, saved in this browser. */

import { useSyncExternalStore } from "react";

export type Step = "write" | "bot" | "takeOver" | "trouble";
export const STEPS: readonly Step[] = ["write", "bot", "takeOver", "trouble"];

export interface Progress {
  readonly done: readonly Step[];
  readonly closed: boolean;
}

const KEY = "waypost.first-steps";
const listeners = new Set<() => void>();
let progress = load();

function load(): Progress {
  try {
    const { done = [], closed = false } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Progress>;
    return { done: STEPS.filter((step) => done.includes(step)), closed };
  } catch {
    return { done: [], closed: false };
  }
}

function update(next: Progress): void {
  progress = next;
  localStorage.setItem(KEY, JSON.stringify(next));
  for (const listener of listeners) listener();
}

export function markDone(step: Step): void {
  if (!progress.done.includes(step)) update({ ...progress, done: [...progress.done, step] });
}

export const closeSteps = (): void => update({ ...progress, closed: true });

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useProgress = (): Progress => useSyncExternalStore(subscribe, () => progress);
