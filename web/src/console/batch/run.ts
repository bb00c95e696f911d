/** A batch on its way: posted part by part, stopped and taken up again. It goes on while another page is looked at. */

import type { components } from "../../api/schema";
import type { Checked } from "./check";
import { messageOf } from "./lines";

type BatchResult = components["schemas"]["BatchResult"];

/** What the server said to one part. */
export type Posted = { readonly results: readonly BatchResult[] } | { readonly waitSeconds: number } | { readonly broken: string };

export type Outcome = { readonly kind: "stored" | "there"; readonly id: number } | { readonly kind: "refused"; readonly reason: string };

export type State =
  | { readonly name: "running" | "stopping" | "stopped" | "finished" }
  | { readonly name: "waiting"; readonly seconds: number }
  | { readonly name: "broken"; readonly reason: string };

export interface Shown {
  readonly state: State;
  /** By the row's number. */
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

export interface Line {
  readonly number: number;
  readonly json: string;
}

interface Means {
  readonly post: (body: string) => Promise<Posted>;
  readonly sleep: (seconds: number) => Promise<void>;
  /** Said of lines that the server could not store just now. */
  readonly notStored: string;
}

const LINES = 200;
const CHARACTERS = 1_000_000;
const PATIENCE = 20;

/** The next part: few enough lines that progress is seen, and that a body is no larger than the server takes. */
export function partOf(lines: readonly Line[]): readonly Line[] {
  let size = 0;
  const fits = lines.slice(0, LINES).findIndex(({ json }) => (size += json.length) > CHARACTERS);
  return lines.slice(0, fits < 0 ? LINES : Math.max(1, fits));
}

/** Null: nothing is known yet, it is posted again; its key keeps it from being stored twice. */
export function outcomeOf({ status, message, error }: BatchResult): Outcome | null {
  if (message != null) return { kind: status === 201 ? "stored" : "there", id: message.id };
  if (status >= 500 || status === 429) return null;
  return { kind: "refused", reason: error?.detail ?? String(status) };
}

export class Run {
  readonly name: string;
  readonly checked: readonly Checked[];
  readonly total: number;
  shown: Shown = { state: { name: "stopped" }, outcomes: new Map() };
  private readonly lines: readonly Line[];
  private readonly means: Means;
  private readonly listeners = new Set<() => void>();

  constructor(name: string, checked: readonly Checked[], means: Means) {
    this.name = name;
    this.checked = checked;
    this.lines = checked.filter(({ refused }) => refused === null).map(({ row }) => ({ number: row.number, json: messageOf(row, name) }));
    this.total = this.lines.length;
    this.means = means;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly read = (): Shown => this.shown;

  readonly stop = (): void => {
    if (this.isBusy()) this.show({ name: "stopping" });
  };

  isBusy(): boolean {
    const { name } = this.shown.state;
    return name === "running" || name === "waiting" || name === "stopping";
  }

  /** Until all lines have an outcome, somebody stops it, or the server is away. */
  readonly go = async (): Promise<void> => {
    if (this.isBusy()) return;
    this.show({ name: "running" });
    for (let waits = 0; ; ) {
      const part = partOf(this.pending());
      if (part.length === 0) return this.show({ name: "finished" });
      const posted = await this.means.post(`{"messages":[${part.map(({ json }) => json).join(",")}]}`);
      if ("broken" in posted) return this.show({ name: "broken", reason: posted.broken });
      if ("results" in posted) {
        if (this.take(part, posted.results) === 0) return this.show({ name: "broken", reason: this.means.notStored });
        waits = 0;
      } else {
        waits += 1;
        if (waits > PATIENCE) return this.show({ name: "broken", reason: this.means.notStored });
        await this.wait(posted.waitSeconds);
      }
      if (this.shown.state.name === "stopping") return this.show({ name: "stopped" });
      this.show({ name: "running" });
    }
  };

  private async wait(seconds: number): Promise<void> {
    for (let left = seconds; left > 0 && this.shown.state.name !== "stopping"; left -= 1) {
      this.show({ name: "waiting", seconds: left });
      await this.means.sleep(Math.min(1, left));
    }
  }

  private pending(): readonly Line[] {
    return this.lines.filter(({ number }) => !this.shown.outcomes.has(number));
  }

  /** How many lines got an outcome. */
  private take(part: readonly Line[], results: readonly BatchResult[]): number {
    const outcomes = new Map(this.shown.outcomes);
    part.forEach(({ number }, index) => {
      const result = results[index];
      const outcome = result === undefined ? null : outcomeOf(result);
      if (outcome !== null) outcomes.set(number, outcome);
    });
    const count = outcomes.size - this.shown.outcomes.size;
    this.shown = { ...this.shown, outcomes };
    return count;
  }

  private show(state: State): void {
    this.shown = { ...this.shown, state };
    for (const listener of this.listeners) listener();
  }
}
