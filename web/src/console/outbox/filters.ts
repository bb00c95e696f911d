/** The outbox filters in the URL. */

import type { components } from "../../api/schema";
import { quoted } from "../curl";

type Status = components["schemas"]["Status"];

export const STATUSES: readonly Status[] = ["QUEUED", "SENDING", "SENT", "DELIVERED", "FAILED", "CANCELLED"];

export interface Filters {
  readonly status: Status | null;
  readonly to: string;
  readonly dossier: number | null;
  /** Only IDs below this one: a later page. */
  readonly before: number | null;
}

const whole = (text: string | null): number | null => (text !== null && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null);

/** Invalid values are ignored, since URLs may be typed by hand. */
export function filtersIn(search: string): Filters {
  const params = new URLSearchParams(search);
  const status = params.get("status")?.toUpperCase();
  return {
    status: STATUSES.find((each) => each === status) ?? null,
    to: params.get("to")?.trim() ?? "",
    dossier: whole(params.get("dossier")),
    before: whole(params.get("before")),
  };
}

/** Keeps the other filters; returns to the first page unless `before` is given. */
export function addressOf(filters: Partial<Filters>): string {
  const params = new URLSearchParams();
  for (const name of ["status", "to", "dossier", "before"] as const) {
    const value = filters[name];
    if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  }
  return params.size > 0 ? `/console/outbox?${params.toString()}` : "/console/outbox";
}

/** The equivalent CLI command. */
export function cliOf(org: string, { status, to, dossier, before }: Filters): string {
  const options = { status, to: to === "" ? null : quoted(to), "dossier-id": dossier, before };
  const given = Object.entries(options).flatMap(([name, value]) => (value === null ? [] : [`--${name} ${value}`]));
  return ["waypost admin outbox", org, ...given].join(" ");
}

export const isFiltered = ({ status, to, dossier, before }: Filters): boolean => status !== null || to !== "" || dossier !== null || before !== null;

/** The rows that were visible when the pointer entered the list, and the number of new ones. */
export function heldRows<Row extends { readonly id: number }>(rows: readonly Row[], top: number | null): { readonly rows: readonly Row[]; readonly fresh: number } {
  if (top === null) return { rows, fresh: 0 };
  const held = rows.filter(({ id }) => id <= top);
  return { rows: held, fresh: rows.length - held.length };
}
