/** What the phones keep in this browser: which one was chosen, who was added, whether they read by themselves. */

import { ADA } from "./people";
import type { Person } from "./model";

export interface Kept {
  readonly chosen: string;
  readonly added: readonly Person[];
  readonly reads: boolean;
}

const KEY = "waypost.phones";
const AT_FIRST: Kept = { chosen: ADA.phone, added: [], reads: true };

export function recall(): Kept {
  try {
    const known = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    const added = (known.added ?? []).filter(({ phone, name }) => typeof phone === "string" && typeof name === "string");
    return { ...AT_FIRST, ...known, added };
  } catch {
    return AT_FIRST;
  }
}

export const keep = (kept: Kept): void => localStorage.setItem(KEY, JSON.stringify(kept));
