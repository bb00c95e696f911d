/** Quick replies: matching and saving rules. Pure. */

import { Unreachable, WaypostError } from "@waypost/client";

import type { QuickReply } from "../model";
import { texts } from "../texts";

export type Words = Pick<QuickReply, "name" | "text">;

/** The search term of a text such as `/tha`; null if the text is not a search. */
export const quickReplyQuery = (text: string): string | null => /^\/([^\n]*)$/.exec(text)?.[1]?.trim().toLowerCase() ?? null;

/** What the button inserts. */
export const ASKS_FOR_ALL = "/";

/** The text to restore if nothing was chosen: the one `before` the button's slash; null: the text was typed and stays. */
export const restoredText = (text: string, before: string | null): string | null => (text === ASKS_FOR_ALL ? before : null);

export const matching = <Reply extends Words>(asked: string, replies: readonly Reply[]): readonly Reply[] =>
  replies.filter(({ name, text }) => name.toLowerCase().startsWith(asked) || text.toLowerCase().includes(asked));

/** Replaces `{name}` with the customer's name. */
export const filledIn = (text: string, name: string): string => text.replaceAll("{name}", () => name);

/** Sufficient for suggestions; the server decides which names are equal. */
const isTaken = (name: string, replies: readonly Words[]): boolean => replies.some((reply) => reply.name.toLowerCase() === name.toLowerCase());

/** For teams without own quick replies: the suggestions not added yet. */
export function suggestionsFor(replies: readonly Words[]): readonly Words[] {
  const isOurs = ({ name }: Words) => !isTaken(name, texts.quick.first);
  return replies.some(isOurs) ? [] : texts.quick.first.filter(({ name }) => !isTaken(name, replies));
}

/** Why a row could not be saved; `field` is null if the input is not the cause. */
export interface Fault {
  readonly field: "name" | "text" | null;
  readonly words: string;
}

export type Step =
  | { readonly is: "nothing" }
  | { readonly is: "fault"; readonly fault: Fault }
  /** `replaces` is the current name; null for a new one. */
  | { readonly is: "save"; readonly words: Words; readonly replaces: string | null };

/** What to do with a changed row. The server validates the rest; names that cannot be part of a URL are rejected here. */
export function stepOf(typed: Words, saved: Words | null): Step {
  const name = typed.name.trim().replace(/^\//, "");
  const { text } = typed;
  if (saved === null ? name === "" && text.trim() === "" : saved.name === name && saved.text === text) return { is: "nothing" };
  if (name === "") return { is: "fault", fault: { field: "name", words: texts.quick.noName } };
  if (name.includes("/") || name === "." || name === "..") return { is: "fault", fault: { field: "name", words: texts.quick.badName } };
  return { is: "save", words: { name, text }, replaces: saved?.name ?? null };
}

/** The server's error, at the field that it names. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof WaypostError) || error instanceof Unreachable) return { field: null, words: texts.quick.away };
  if (error.code === "quick_reply_gone") return { field: null, words: texts.quick.gone };
  const [, field, reason] = /^(name|text): (.*)$/s.exec(error.message) ?? [];
  if (reason === undefined) return { field: null, words: texts.quick.refused(error.message) };
  return field === "name" ? { field, words: texts.quick.nameWrong(reason) } : { field: "text", words: texts.quick.textWrong(reason) };
}
