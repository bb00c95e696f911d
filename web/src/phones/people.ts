/** Whose phones there are: two from the start, those that were added here, and whoever else the sandbox knows. */

import type { Person, PersonWithPost } from "./model";

export const ADA: Person = { phone: "15550001111", name: "Ada" };
export const GRACE: Person = { phone: "15550002222", name: "Grace" };
const SHORTEST = 7;
const LONGEST = 15;
const MOST_SHOWN = 8;

/** The digits of a number in any spelling; null when it is none. */
export function digitsOf(written: string): string | null {
  const bare = written.replace(/[\s.\-()[\]]/g, "").replace(/^\+/, "");
  return /^\d+$/.test(bare) && bare.length >= SHORTEST && bare.length <= LONGEST ? bare : null;
}

/** Each once, in an order that does not jump; the sandbox knows what they call themselves by now. */
export function everybody(added: readonly Person[], told: readonly PersonWithPost[], chosen: string): readonly PersonWithPost[] {
  const known = new Map<string, PersonWithPost>();
  for (const each of [ADA, GRACE, ...added]) known.set(each.phone, { ...each, unread: 0 });
  for (const each of [...told].sort((a, b) => a.phone.localeCompare(b.phone))) known.set(each.phone, each);
  const all = [...known.values()];
  const first = all.slice(0, MOST_SHOWN);
  const missing = first.some(({ phone }) => phone === chosen) ? [] : all.filter(({ phone }) => phone === chosen);
  return [...first, ...missing];
}
