/** Parsers for non-text contents; they accept any input, since customers' apps decide what they send. */

import { partOf } from "../live/references";
import type { Message } from "../model";

type Content = Message["content"];
type Part = Readonly<Record<string, unknown>>;

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

export function placeIn(content: Content): Place | null {
  const { latitude, longitude } = partOf(content, "location");
  const [north, east] = [numberOf(latitude), numberOf(longitude)];
  return north === null || east === null ? null : { latitude: north, longitude: east };
}

/** A link only; nothing is loaded from there automatically. */
export const mapOf = ({ latitude, longitude }: Place): string =>
  `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`;

export interface Card {
  readonly name: string;
  readonly numbers: readonly string[];
}

export function cardsIn(content: Content): readonly Card[] {
  const cards: unknown = content["contacts"];
  if (!Array.isArray(cards)) return [];
  return cards.filter(isPart).map((card) => {
    const named = partOf(card, "name");
    const whole = textOf(named["formatted_name"]) || [named["first_name"], named["last_name"]].map(textOf).filter(Boolean).join(" ");
    const phones: unknown = card["phones"];
    const numbers = Array.isArray(phones) ? phones.filter(isPart).map(({ phone, wa_id }) => textOf(phone) || textOf(wa_id)) : [];
    return { name: whole, numbers: numbers.filter(Boolean) };
  });
}

/** The offered choices: titles of buttons or list rows. */
export function choicesIn(content: Content): readonly string[] {
  const action = partOf(partOf(content, "interactive"), "action");
  const buttons: unknown = action["buttons"];
  if (Array.isArray(buttons)) return buttons.filter(isPart).map((button) => textOf(partOf(button, "reply")["title"])).filter(Boolean);
  const sections: unknown = action["sections"];
  if (!Array.isArray(sections)) return [];
  const rows = sections.filter(isPart).flatMap(({ rows }) => (Array.isArray(rows) ? rows.filter(isPart) : []));
  return rows.map(({ title }) => textOf(title)).filter(Boolean);
}

export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1).replace(/\.0$/, "")} MB`;
}

const isPart = (value: unknown): value is Part => typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number | null => {
  const found = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof found === "number" && Number.isFinite(found) ? found : null;
};
