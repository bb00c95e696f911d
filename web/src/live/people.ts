/** Customers by what they are called, or by a piece of their number as people write it. Pure. */

import type { Conversation } from "../model";
import { nameOf } from "../words";

/** Fewer digits are in nearly every number. */
const TELLING = 3;
/** As many as the shortest number of a customer has: it can be asked for. */
const WHOLE = 7;

/** What people put between digits. */
const BETWEEN = /[\s+().\-\u2010-\u2014/]/g;

/** `+1 (555) 000-1111` is `15550001111`; null of what is no number. */
export function digitsIn(words: string): string | null {
  const digits = words.replace(BETWEEN, "");
  return /^\d+$/.test(digits) ? digits : null;
}

/** The number to ask the server for, which knows it only as a whole; null when there is none. */
export function numberIn(words: string): string | null {
  const digits = digitsIn(words);
  return digits !== null && digits.length >= WHOLE ? `+${digits}` : null;
}

/** Those whose name has each of these words, or whose number these digits; in their own order, at most so many. */
export function peopleFor(words: string, known: Iterable<Conversation>, most: number): readonly Conversation[] {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const digits = digitsIn(words);
  const isMeant = (conversation: Conversation): boolean => {
    const name = nameOf(conversation).toLowerCase();
    if (parts.every((part) => name.includes(part))) return true;
    return digits !== null && digits.length >= TELLING && (conversation.contact?.phone ?? "").replace(BETWEEN, "").includes(digits);
  };
  const people: Conversation[] = [];
  if (parts.length === 0) return people;
  for (const conversation of known) {
    if (isMeant(conversation)) people.push(conversation);
    if (people.length === most) break;
  }
  return people;
}
