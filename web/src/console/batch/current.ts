/** The batch of this page: it stays when another page is opened, and the browser warns before it is cut off. */

import { useSyncExternalStore } from "react";

import { whenLeaving } from "../../session";
import { words as frame } from "../texts";
import type { Checked } from "./check";
import { Run, type Posted, type Shown } from "./run";
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

export const useShownOf = (run: Run): Shown => useSyncExternalStore(run.subscribe, run.read);

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
  setCurrent(null); // else the browser would ask whether to stay, signed out
});

const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function post(body: string): Promise<Posted> {
  let answer: Response;
  try {
    answer = await fetch(PATH, { method: "POST", headers: { "content-type": "application/json" }, body, cache: "no-store" });
  } catch {
    return { broken: frame.failed.unreachable };
  }
  if (answer.status === 429 || answer.status === 503) return { waitSeconds: waitOf(answer.headers.get("retry-after")) };
  const said = (await answer.json().catch(() => ({}))) as { results?: never[]; detail?: string };
  return answer.ok && said.results !== undefined ? { results: said.results } : { broken: said.detail ?? frame.failed.status(answer.status) };
}

const waitOf = (header: string | null): number => Math.min(LONGEST_WAIT, Math.max(1, Number(header) || USUAL_WAIT));
