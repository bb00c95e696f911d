/** The fault switches, in the sandbox's terms. */

import type { Fault } from "./model";

export type Kind = "delay" | "duplicate" | "lost" | "order" | "away" | "code";

export const KINDS: readonly Kind[] = ["delay", "duplicate", "lost", "order", "away", "code"];
export const CODES = [131026, 131056, 130429, 190] as const;
export type Code = (typeof CODES)[number];

const ACTIONS: Readonly<Record<Exclude<Kind, "code">, object>> = {
  delay: { delay_ms: 3000 },
  duplicate: { duplicate_statuses: 2 },
  lost: { drop_response: true },
  order: { reorder_statuses: true },
  away: { http_status: 503 },
};
const NAMES: Readonly<Record<string, Kind>> = {
  delay_ms: "delay",
  duplicate_statuses: "duplicate",
  drop_response: "lost",
  reorder_statuses: "order",
  http_status: "away",
  error_code: "code",
};

export const faultOf = (kind: Kind, code: Code): object => (kind === "code" ? { error_code: code } : ACTIONS[kind]);

/** The switch of a fault; null if it was created elsewhere and does not match a switch exactly. */
export function kindOf(fault: Fault): Kind | null {
  const { id: _, left: __, ...actions } = fault;
  const [name, ...more] = Object.keys(actions);
  return name !== undefined && more.length === 0 ? (NAMES[name] ?? null) : null;
}

/** The code of the active switch. */
export function codeOf(faults: readonly Fault[]): Code | null {
  const code = faults.find((fault) => kindOf(fault) === "code")?.["error_code"];
  return CODES.find((known) => known === code) ?? null;
}
