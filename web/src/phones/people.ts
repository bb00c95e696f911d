/** The phones: two built-in ones, those added here, and others known to the sandbox. */

import type { Person, PersonWithUnread } from "./model";

export const ADA: Person = { phone: "15550001111", name: "Ada" };
export const GRACE: Person = { phone: "15550002222", name: "Grace" };
const SHORTEST = 7;
const LONGEST = 15;
const MOST_SHOWN = 8;

/** The digits of a number in any notation; null if it is not a number. */
export function digitsOf(written: string): string | null {
  const bare = written.replace(/[\s.\-()[\]]/g, "").replace(/^\+/, "");
  return /^\d+$/.test(bare) && bare.length >= SHORTEST && bare.length <= LONGEST ? bare : null;
}

/** Each phone once, in a stable order; names come from the sandbox. */
export function allPeople(added: readonly Person[], listed: readonly PersonWithUnread[], chosen: string): readonly PersonWithUnread[] {
  const known = new Map<string, PersonWithUnread>();
  for (const each of [ADA, GRACE, ...added]) known.set(each.phone, { ...each, unread: 0 });
  for (const each of [...listed].sort((a, b) => a.phone.localeCompare(b.phone))) known.set(each.phone, each);
  const all = [...known.values()];
  const first = all.slice(0, MOST_SHOWN);
  const missing = first.some(({ phone }) => phone === chosen) ? [] : all.filter(({ phone }) => phone === chosen);
  return [...first, ...missing];
}
