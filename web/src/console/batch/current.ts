/** The current batch: it continues while other pages are open, and the browser warns before it is interrupted. */

import { useSyncExternalStore } from "react";

import { whenLeaving } from "../../session";
import { words as frame } from "../texts";
import type { Checked } from "./check";
import { Run, type Posted, type RunState } from "./run";
import { words } from "./texts";

const PATH = "/api/v1/outbound/messages/batch";
const USUAL_WAIT = 5;
const LONGEST_WAIT = 60;

let current: Run | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useCurrent = (): Run | null => useSyncExternalStore(subscribe, () => current);

export function setCurrent(run: Run | null): void {
  current = run;
  for (const listener of listeners) listener();
}

export const useRunState = (run: Run): RunState => useSyncExternalStore(run.subscribe, run.read);

export function begin(name: string, checked: readonly Checked[]): void {
  const run = new Run(name, checked, { post, sleep, notStored: words.notStored });
  setCurrent(run);
  void run.go();
}

addEventListener("beforeunload", (event) => {
  if (current?.isBusy()) event.preventDefault();
});

whenLeaving(() => {
  current?.stop();
  setCurrent(null); // otherwise the browser would ask whether to leave the page
});

const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function post(batch: string): Promise<Posted> {
  let response: Response;
  try {
    response = await fetch(PATH, { method: "POST", headers: { "content-type": "application/json" }, body: batch, cache: "no-store" });
  } catch {
    return { broken: frame.failed.unreachable };
  }
  if (response.status === 429 || response.status === 503) return { waitSeconds: waitOf(response.headers.get("retry-after")) };
  const body = (await response.json().catch(() => ({}))) as { results?: never[]; detail?: string };
  return response.ok && body.results !== undefined ? { results: body.results } : { broken: body.detail ?? frame.failed.status(response.status) };
}

const waitOf = (header: string | null): number => Math.min(LONGEST_WAIT, Math.max(1, Number(header) || USUAL_WAIT));
