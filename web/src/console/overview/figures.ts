/** Calculations for the overview. Pure. */

import type { components } from "../../api/schema";

type Schemas = components["schemas"];
export type Overview = Schemas["OverviewView"];
export type Part = Schemas["PartView"];
export type Waiting = Schemas["WaitingView"];
export type Verdict = Schemas["Invariants"];
export type Gate = Schemas["GateView"];
type Step = Schemas["StepView"];

const SIXTY = 60;
const DISABLED = "NUMBER_DISABLED";

/** Of the whole time range. */
export const total = (steps: readonly Step[], of: "received" | "sent" | "delivered" | "failed"): number =>
  steps.reduce((sum, step) => sum + step[of], 0);

/** Steps can be shorter or longer than a minute. */
export const perMinute = (steps: readonly Step[], of: "received" | "sent" | "delivered" | "failed", stepSeconds: number): number[] =>
  steps.map((step) => (step[of] * SIXTY) / stepSeconds);

export const momentsOf = (steps: readonly Step[]): number[] => steps.map(({ at }) => new Date(at).getTime() / 1000);

/** Whether the data is truncated, so that the range is shorter than requested. */
export const isCut = ({ at, since }: Pick<Overview, "at" | "since">, minutes: number): boolean =>
  new Date(at).getTime() - new Date(since).getTime() < (minutes * SIXTY - 1) * 1000;

/** The age of the oldest waiting message in seconds; null if nothing is waiting. */
export function oldest(waiting: readonly Waiting[], at: string): number | null {
  if (waiting.length === 0) return null;
  const first = Math.min(...waiting.map(({ oldest_at }) => new Date(oldest_at).getTime()));
  return Math.max(0, (new Date(at).getTime() - first) / 1000);
}

export const count = (waiting: readonly Waiting[]): number => waiting.reduce((sum, { messages }) => sum + messages, 0);

export const troubles = (parts: readonly Part[]): number => parts.filter(({ state }) => state === "trouble").length;

/** A disabled number needs attention only if messages wait for it. */
export function closed(gates: readonly Pick<Gate, "kind" | "code" | "waiting">[]): { readonly held: number; readonly slowed: number } {
  const held = gates.filter(({ kind, code, waiting }) => kind === "hold" && (code !== DISABLED || waiting > 0)).length;
  const slowed = gates.filter(({ kind }) => kind !== "hold").length;
  return { held, slowed };
}

export const broken = ({ checked }: Verdict): number => checked.filter(({ violations }) => violations > 0).length;
