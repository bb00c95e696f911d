/** Checks each row before anything is sent. The server validates again; this gives immediate feedback. */

import type { components } from "../../api/schema";
import type { Row } from "./csv";
import { languageOf, parametersOf } from "./lines";
import { plain, wrongRecipient } from "./recipient";
import { words } from "./texts";

export type Template = components["schemas"]["TemplateView"];

/** Data of the org; null values are not checked. */
export interface OrgData {
  readonly templates: readonly Template[] | null;
  readonly numbers: readonly string[] | null;
}

export interface Checked {
  readonly row: Row;
  /** Why the row is invalid; null if no problem is known. */
  readonly refused: string | null;
  /** A possible mistake; the row is sent anyway. */
  readonly doubt: string | null;
}

const CANNOT_BE_SENT = ["PENDING", "REJECTED", "DISABLED", "IN_APPEAL", "PENDING_DELETION", "DELETED", "LIMIT_EXCEEDED", "ARCHIVED"];
const LONGEST_TEXT = 4096;
const MOMENT = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)$/;
const NUMBERS = [["priority", 0, 9], ["maxAttempts", 0, 10], ["dossierId", 1, Number.MAX_SAFE_INTEGER]] as const;

/** Rows without a key get a unique one. */
export function checkRows(rows: readonly Row[], known: OrgData, now: Date): readonly Checked[] {
  const keys = new Map<string, { readonly row: number; readonly content: string }>();
  const contents = new Map<string, number>();
  return rows.map((row) => {
    const refused = wrongWith(row, known, now);
    if (refused !== null) return { row, refused, doubt: null };
    return { row, ...twice(row, keys, contents) };
  });
}

function twice(
  row: Row,
  keys: Map<string, { readonly row: number; readonly content: string }>,
  contents: Map<string, number>,
): Pick<Checked, "refused" | "doubt"> {
  const { idempotencyKey: key, ...rest } = row.cells;
  const content = JSON.stringify({ ...rest, to: plain(rest["to"] ?? "") });
  const sameKey = key === undefined ? undefined : keys.get(key);
  if (sameKey !== undefined)
    return sameKey.content === content
      ? { refused: null, doubt: words.doubt.sameKey(sameKey.row) }
      : { refused: words.refused.keyTaken(sameKey.row), doubt: null };
  if (key !== undefined) keys.set(key, { row: row.number, content });
  const same = contents.get(content);
  if (same === undefined) contents.set(content, row.number);
  return { refused: null, doubt: same === undefined ? null : words.doubt.same(same) };
}

/** The first problem found. */
function wrongWith(row: Row, known: OrgData, now: Date): string | null {
  if (row.wrong !== null) return words.refused.cells;
  const { cells } = row;
  return wrongAddress(cells, known) ?? wrongFigures(cells) ?? wrongMoments(cells, now) ?? wrongContent(cells, known);
}

function wrongAddress(cells: Row["cells"], { numbers }: OrgData): string | null {
  const { channel = "WHATSAPP", to = "", from, idempotencyKey: key } = cells;
  if (channel !== "WHATSAPP" && channel !== "EMAIL") return words.refused.channel(channel);
  const wrong = wrongRecipient(to, channel);
  if (wrong !== null) return words.refused.to[wrong];
  if (from !== undefined && channel === "WHATSAPP" && numbers !== null && !numbers.includes(from)) return words.refused.from(from);
  if (key !== undefined && (key.length > 255 || /^(turn|consent|post):/.test(key))) return words.refused.key;
  return null;
}

function wrongFigures(cells: Row["cells"]): string | null {
  for (const [name, least, most] of NUMBERS) {
    const value = cells[name];
    if (value === undefined) continue;
    if (!/^\d+$/.test(value) || Number(value) < least || Number(value) > most) return words.refused.figure(name, least, most);
  }
  const ordered = cells["ordered"];
  return ordered === undefined || ordered === "true" || ordered === "false" ? null : words.refused.ordered;
}

function wrongMoments(cells: Row["cells"], now: Date): string | null {
  for (const name of ["scheduledAt", "expiresAt"])
    if (cells[name] !== undefined && (!MOMENT.test(cells[name]) || Number.isNaN(Date.parse(cells[name])))) return words.refused.moment(name);
  const { scheduledAt, expiresAt } = cells;
  if (expiresAt === undefined) return null;
  if (Date.parse(expiresAt) <= now.getTime()) return words.refused.expired;
  return scheduledAt !== undefined && Date.parse(expiresAt) <= Date.parse(scheduledAt) ? words.refused.expiresFirst : null;
}

function wrongContent(cells: Row["cells"], known: OrgData): string | null {
  if (cells["payloadJson"] !== undefined) return isObject(cells["payloadJson"]) ? null : words.refused.payload;
  if (cells["templateCode"] !== undefined) return wrongTemplate(cells["templateCode"], cells, known);
  if (cells["text"] === undefined) return words.refused.empty;
  return [...cells["text"]].length > LONGEST_TEXT && cells["channel"] !== "EMAIL" ? words.refused.long(LONGEST_TEXT) : null;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function wrongTemplate(name: string, cells: Row["cells"], { templates }: OrgData): string | null {
  if (templates === null) return null;
  const languages = templates.filter((each) => each.name === name);
  if (languages.length === 0) return words.refused.noTemplate(name);
  const template = languages.find((each) => each.language === languageOf(cells));
  if (template === undefined) return words.refused.language(name, languageOf(cells), languages.map((each) => each.language).join(", "));
  if (CANNOT_BE_SENT.includes(template.status)) return words.refused.status(name, template.status);
  if (template.parameterFormat === "NAMED" || template.parameters.some((each) => each.component !== "body")) return words.refused.needsPayload(name);
  const [expected, given] = [template.parameters.length, parametersOf(cells).length];
  return expected === given ? null : words.refused.parameters(expected, given);
}
