/** Finds customers by name, or by part of their number in any notation. Pure. */

import type { Conversation } from "../model";
import { nameOf } from "../display-text";

/** Fewer digits would match nearly every number. */
const TELLING = 3;
/** The length of the shortest customer number; shorter input is not sent to the server. */
const WHOLE = 7;

/** Separators between digits. */
const BETWEEN = /[\s+().\-\u2010-\u2014/]/g;

/** `+1 (555) 000-1111` becomes `15550001111`; null if the input is not a number. */
export function digitsIn(words: string): string | null {
  const digits = words.replace(BETWEEN, "");
  return /^\d+$/.test(digits) ? digits : null;
}

/** The number to request from the server, which only finds full numbers; null if there is none. */
export function numberIn(words: string): string | null {
  const digits = digitsIn(words);
  return digits !== null && digits.length >= WHOLE ? `+${digits}` : null;
}

/** Conversations whose name contains each word, or whose number contains the digits; in their order, at most `most`. */
export function customersMatching(words: string, known: Iterable<Conversation>, most: number): readonly Conversation[] {
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
