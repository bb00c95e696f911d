/** Display names and message summaries; everything here is text, never markup. */

import type { Conversation, Message } from "./model";
import { texts } from "./texts";

export function nameOf({ kind, contact, title }: Conversation): string {
  if (kind !== "customer") return title ?? texts.unnamed;
  return contact?.name ?? contact?.phone ?? contact?.username ?? contact?.user_id ?? texts.unnamed;
}

export function initialsOf(name: string): string {
  const letters = name.split(/\s+/).flatMap((word) => /\p{L}/u.exec(word)?.[0] ?? []);
  const [first, last] = [letters[0], letters.length > 1 ? letters.at(-1) : undefined];
  return `${first ?? "#"}${last ?? ""}`.toUpperCase();
}

const COLOURS = ["teal", "indigo", "grape", "blue", "pink", "violet"];

/** Stable for each conversation. */
export const colourOf = (conversation_id: string): string => COLOURS[Number(conversation_id) % COLOURS.length] ?? "teal";

/** The label of the content type; null for plain text. */
export function labelOf(content: Message["content"]): string | null {
  const type = content["type"];
  if (type === "text" || type === "note") return null;
  const offered = content["interactive"] as { readonly type?: unknown } | null | undefined;
  if (type === "interactive" && String(offered?.type).endsWith("_reply")) return texts.content["button"] ?? null;
  return texts.content[String(type)] ?? texts.content["unknown"] ?? null;
}

export function textOf(content: Message["content"]): string {
  const text = content["text"];
  return typeof text === "string" ? text : "";
}

/** One line, for lists. */
export function summaryOf(content: Message["content"]): string {
  return [labelOf(content), textOf(content).replace(/\s+/g, " ").trim()].filter(Boolean).join(": ");
}

export function failureOf(code: string | null, title: string | null): string {
  return (code !== null ? texts.failure[code] : undefined) ?? title ?? texts.failure["plain"] ?? "";
}

export const isFromCustomer = (sender: string): boolean => sender.startsWith("contact:");
