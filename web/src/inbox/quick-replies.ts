/** Answers that the team gives often: which of them are asked for, and what is to be done with a line that was changed. Pure. */

import { Unreachable, WaypostError } from "@waypost/client";

import type { QuickReply } from "../model";
import { texts } from "../texts";

export type Words = Pick<QuickReply, "name" | "text">;

/** What is looked for by a text such as `/tha`; null when it asks for none. */
export const askedFor = (text: string): string | null => /^\/([^\n]*)$/.exec(text)?.[1]?.trim().toLowerCase() ?? null;

/** What the button writes for whoever does not know the key. */
export const ASKS_FOR_ALL = "/";

/** What stands again when nothing was chosen: `before` the button wrote its sign; null: what is there was typed by hand and stays. */
export const takenBack = (text: string, before: string | null): string | null => (text === ASKS_FOR_ALL ? before : null);

export const matching = <Reply extends Words>(asked: string, replies: readonly Reply[]): readonly Reply[] =>
  replies.filter(({ name, text }) => name.toLowerCase().startsWith(asked) || text.toLowerCase().includes(asked));

/** `{name}` is the customer's. */
export const filledIn = (text: string, name: string): string => text.replaceAll("{name}", () => name);

/** Good enough to offer something; which names are the same is for the server to say. */
const isTaken = (name: string, replies: readonly Words[]): boolean => replies.some((reply) => reply.name.toLowerCase() === name.toLowerCase());

/** For a team that has nothing of its own yet: the examples that it has not taken. */
export function suggestionsFor(replies: readonly Words[]): readonly Words[] {
  const isOurs = ({ name }: Words) => !isTaken(name, texts.quick.first);
  return replies.some(isOurs) ? [] : texts.quick.first.filter(({ name }) => !isTaken(name, replies));
}

/** Why a line could not be saved; without a field it is nobody's fault here. */
export interface Fault {
  readonly field: "name" | "text" | null;
  readonly words: string;
}

export type Step =
  | { readonly is: "nothing" }
  | { readonly is: "fault"; readonly fault: Fault }
  /** `replaces` is the name that it had until now; null of a new one. */
  | { readonly is: "save"; readonly words: Words; readonly replaces: string | null };

/** What a line that is left needs. Most is for the server to judge, but not what would not reach it as a name. */
export function stepOf(typed: Words, saved: Words | null): Step {
  const name = typed.name.trim().replace(/^\//, "");
  const { text } = typed;
  if (saved === null ? name === "" && text.trim() === "" : saved.name === name && saved.text === text) return { is: "nothing" };
  if (name === "") return { is: "fault", fault: { field: "name", words: texts.quick.noName } };
  if (name.includes("/") || name === "." || name === "..") return { is: "fault", fault: { field: "name", words: texts.quick.badName } };
  return { is: "save", words: { name, text }, replaces: saved?.name ?? null };
}

/** The server's own reason, at the field that it names. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof WaypostError) || error instanceof Unreachable) return { field: null, words: texts.quick.away };
  if (error.code === "quick_reply_gone") return { field: null, words: texts.quick.gone };
  const [, field, reason] = /^(name|text): (.*)$/s.exec(error.message) ?? [];
  if (reason === undefined) return { field: null, words: texts.quick.refused(error.message) };
  return field === "name" ? { field, words: texts.quick.nameWrong(reason) } : { field: "text", words: texts.quick.textWrong(reason) };
}
