/** Which messages the outbox shows, as the address says it. */

import type { components } from "../../api/schema";
import { quoted } from "../curl";

type Status = components["schemas"]["Status"];

export const STATUSES: readonly Status[] = ["QUEUED", "SENDING", "SENT", "DELIVERED", "FAILED", "CANCELLED"];

export interface Filters {
  readonly status: Status | null;
  readonly to: string;
  readonly dossier: number | null;
  /** Only ids below this one: a page further down. */
  readonly before: number | null;
}

const whole = (text: string | null): number | null => (text !== null && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null);

/** What is no filter is none: an address may be typed by hand. */
export function filtersIn(search: string): Filters {
  const asked = new URLSearchParams(search);
  const status = asked.get("status")?.toUpperCase();
  return {
    status: STATUSES.find((each) => each === status) ?? null,
    to: asked.get("to")?.trim() ?? "",
    dossier: whole(asked.get("dossier")),
    before: whole(asked.get("before")),
  };
}

/** The other filters stay; the page begins anew unless `before` is given. */
export function addressOf(filters: Partial<Filters>): string {
  const asked = new URLSearchParams();
  for (const name of ["status", "to", "dossier", "before"] as const) {
    const value = filters[name];
    if (value !== null && value !== undefined && value !== "") asked.set(name, String(value));
  }
  return asked.size > 0 ? `/console/outbox?${asked.toString()}` : "/console/outbox";
}

/** The same list on the command line. */
export function cliOf(org: string, { status, to, dossier, before }: Filters): string {
  const options = { status, to: to === "" ? null : quoted(to), "dossier-id": dossier, before };
  const given = Object.entries(options).flatMap(([name, value]) => (value === null ? [] : [`--${name} ${value}`]));
  return ["waypost admin outbox", org, ...given].join(" ");
}

export const isFiltered = ({ status, to, dossier, before }: Filters): boolean => status !== null || to !== "" || dossier !== null || before !== null;

/** The rows that were there when somebody began to point at one, as they are now; and how many came since. */
export function heldRows<Row extends { readonly id: number }>(rows: readonly Row[], top: number | null): { readonly rows: readonly Row[]; readonly fresh: number } {
  if (top === null) return { rows, fresh: 0 };
  const held = rows.filter(({ id }) => id <= top);
  return { rows: held, fresh: rows.length - held.length };
}
