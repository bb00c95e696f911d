/** A running batch: posted in parts, can be stopped and resumed, and continues while other pages are open. */

import type { components } from "../../api/schema";
import type { Checked } from "./check";
import { messageOf } from "./lines";

type BatchResult = components["schemas"]["BatchResult"];

/** The server's response to one part. */
export type Posted = { readonly results: readonly BatchResult[] } | { readonly waitSeconds: number } | { readonly broken: string };

export type Outcome = { readonly kind: "stored" | "there"; readonly id: number } | { readonly kind: "refused"; readonly reason: string };

export type State =
  | { readonly name: "running" | "stopping" | "stopped" | "finished" }
  | { readonly name: "waiting"; readonly seconds: number }
  | { readonly name: "broken"; readonly reason: string };

export interface RunState {
  readonly state: State;
  /** By row number. */
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

export interface Line {
  readonly number: number;
  readonly json: string;
}

interface Dependencies {
  readonly post: (body: string) => Promise<Posted>;
  readonly sleep: (seconds: number) => Promise<void>;
  /** The error for lines that the server could not store. */
  readonly notStored: string;
}

const LINES = 200;
const CHARACTERS = 1_000_000;
const PATIENCE = 20;

/** The next part: small enough to show progress and to stay within the server's limit. */
export function partOf(lines: readonly Line[]): readonly Line[] {
  let size = 0;
  const fits = lines.slice(0, LINES).findIndex(({ json }) => (size += json.length) > CHARACTERS);
  return lines.slice(0, fits < 0 ? LINES : Math.max(1, fits));
}

/** Null: no result yet, posted again; the key prevents a duplicate. */
export function outcomeOf({ status, message, error }: BatchResult): Outcome | null {
  if (message != null) return { kind: status === 201 ? "stored" : "there", id: message.id };
  if (status >= 500 || status === 429) return null;
  return { kind: "refused", reason: error?.detail ?? String(status) };
}

export class Run {
  readonly name: string;
  readonly checked: readonly Checked[];
  readonly total: number;
  current: RunState = { state: { name: "stopped" }, outcomes: new Map() };
  private readonly lines: readonly Line[];
  private readonly dependencies: Dependencies;
  private readonly listeners = new Set<() => void>();

  constructor(name: string, checked: readonly Checked[], dependencies: Dependencies) {
    this.name = name;
    this.checked = checked;
    this.lines = checked.filter(({ refused }) => refused === null).map(({ row }) => ({ number: row.number, json: messageOf(row, name) }));
    this.total = this.lines.length;
    this.dependencies = dependencies;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly read = (): RunState => this.current;

  readonly stop = (): void => {
    if (this.isBusy()) this.show({ name: "stopping" });
  };

  isBusy(): boolean {
    const { name } = this.current.state;
    return name === "running" || name === "waiting" || name === "stopping";
  }

  /** Runs until all lines have an outcome, it is stopped, or the server is unreachable. */
  readonly go = async (): Promise<void> => {
    if (this.isBusy()) return;
    this.show({ name: "running" });
    for (let waits = 0; ; ) {
      const part = partOf(this.pending());
      if (part.length === 0) return this.show({ name: "finished" });
      const posted = await this.dependencies.post(`{"messages":[${part.map(({ json }) => json).join(",")}]}`);
      if ("broken" in posted) return this.show({ name: "broken", reason: posted.broken });
      if ("results" in posted) {
        if (this.take(part, posted.results) === 0) return this.show({ name: "broken", reason: this.dependencies.notStored });
        waits = 0;
      } else {
        waits += 1;
        if (waits > PATIENCE) return this.show({ name: "broken", reason: this.dependencies.notStored });
        await this.wait(posted.waitSeconds);
      }
      if (this.current.state.name === "stopping") return this.show({ name: "stopped" });
      this.show({ name: "running" });
    }
  };

  private async wait(seconds: number): Promise<void> {
    for (let left = seconds; left > 0 && this.current.state.name !== "stopping"; left -= 1) {
      this.show({ name: "waiting", seconds: left });
      await this.dependencies.sleep(Math.min(1, left));
    }
  }

  private pending(): readonly Line[] {
    return this.lines.filter(({ number }) => !this.current.outcomes.has(number));
  }

  /** Returns how many lines got an outcome. */
  private take(part: readonly Line[], results: readonly BatchResult[]): number {
    const outcomes = new Map(this.current.outcomes);
    part.forEach(({ number }, index) => {
      const result = results[index];
      const outcome = result === undefined ? null : outcomeOf(result);
      if (outcome !== null) outcomes.set(number, outcome);
    });
    const count = outcomes.size - this.current.outcomes.size;
    this.current = { ...this.current, outcomes };
    return count;
  }

  private show(state: State): void {
    this.current = { ...this.current, state };
    for (const listener of this.listeners) listener();
  }
}
