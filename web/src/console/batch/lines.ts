/** The message of a row, by the rules of `waypost send`: the same columns, defaults and key. */

import type { Row } from "./csv";
import { sha256 } from "./sha256";

const WORDS = ["to", "from", "templateCode", "subject", "idempotencyKey", "scheduledAt", "expiresAt", "channel"];
const NUMBERS = ["priority", "maxAttempts", "dossierId"];
const OURS = ["text", "language", "ordered", "payloadJson"];
const PARAMETER = /^body(\d+)$/;

export const isColumn = (name: string): boolean => [...WORDS, ...NUMBERS, ...OURS].includes(name) || PARAMETER.test(name);

/** A problem with the columns, which prevents sending. */
export function wrongColumns(columns: readonly string[]): { readonly missing: "to" } | { readonly unknown: string } | null {
  if (!columns.includes("to")) return { missing: "to" };
  const unknown = columns.find((name) => !isColumn(name));
  return unknown === undefined ? null : { unknown };
}

/** The same row of the same file gets the same key, here and in `waypost send`; a changed row gets another. */
export function keyOf(fileName: string, { number, cells }: Row): string {
  const sorted = Object.fromEntries(Object.entries(cells).sort(([one], [other]) => (one < other ? -1 : 1)));
  return `csv-${sha256(JSON.stringify([fileName, number, sorted])).slice(0, 40)}`;
}

/** The body parameters of a template, in order. */
export function parametersOf(cells: Row["cells"]): readonly string[] {
  const places = Object.entries(cells).flatMap(([name, value]) => {
    const place = PARAMETER.exec(name)?.[1];
    return place === undefined ? [] : [[Number(place), value] as const];
  });
  return places.sort(([one], [other]) => one - other).map(([, value]) => value);
}

export const languageOf = (cells: Row["cells"]): string => cells["language"] ?? "en";

/** The request body as JSON; `payloadJson` is passed through unchanged. */
export function messageOf(row: Row, fileName: string): string {
  const { cells } = row;
  const named = (names: readonly string[]) => Object.entries(cells).filter(([name]) => names.includes(name));
  const asked = {
    channel: "WHATSAPP",
    idempotencyKey: keyOf(fileName, row),
    ...Object.fromEntries(named(WORDS)),
    ...Object.fromEntries(named(NUMBERS).map(([name, value]) => [name, Number(value)])),
    ...(cells["ordered"] !== undefined && { ordered: cells["ordered"] === "true" }),
  };
  const payload = cells["payloadJson"] ?? JSON.stringify(contentOf(cells));
  return payload === undefined ? JSON.stringify(asked) : `${JSON.stringify(asked).slice(0, -1)},"payloadJson":${payload}}`;
}

function contentOf(cells: Row["cells"]): object | undefined {
  if (cells["templateCode"] === undefined) return cells["text"] === undefined ? undefined : { text: cells["text"] };
  const parameters = parametersOf(cells).map((text) => ({ type: "text", text }));
  return { language: languageOf(cells), ...(parameters.length > 0 && { components: [{ type: "body", parameters }] }) };
}
