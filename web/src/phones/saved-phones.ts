/** The saved phone state of this browser: the chosen phone, added phones, and automatic reading. */

import { ADA } from "./people";
import type { Person } from "./model";

export interface SavedPhones {
  readonly chosen: string;
  readonly added: readonly Person[];
  readonly reads: boolean;
}

const KEY = "waypost.phones";
const AT_FIRST: SavedPhones = { chosen: ADA.phone, added: [], reads: true };

export function loadPhones(): SavedPhones {
  try {
    const known = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<SavedPhones>;
    const added = (known.added ?? []).filter(({ phone, name }) => typeof phone === "string" && typeof name === "string");
    return { ...AT_FIRST, ...known, added };
  } catch {
    return AT_FIRST;
  }
}

export const savePhones = (saved: SavedPhones): void => localStorage.setItem(KEY, JSON.stringify(saved));
