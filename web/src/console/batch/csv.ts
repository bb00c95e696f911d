/** Parses CSV like `waypost send`: strict quotes, a header, and rows numbered as in a spreadsheet. */

export interface Row {
  /** As in a spreadsheet: the header is row 1. */
  readonly number: number;
  readonly cells: Readonly<Record<string, string>>;
  /** Set if the number of cells differs from the header. */
  readonly wrong: "cells" | null;
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

export class NotCsv extends Error {
  /** The row of the error. */
  readonly row: number;

  constructor(row: number) {
    super(`row ${row}`);
    this.row = row;
  }
}

const SEPARATORS = [",", ";", "\t"];

/** Some locales use semicolons, and pasted cells are separated by tabs. */
export function separatorOf(text: string): string {
  const header = /^[^\r\n]*/.exec(text)?.[0] ?? "";
  const counts = SEPARATORS.map((each) => header.split(each).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ",";
}

/** Empty cells are omitted, as if their column did not exist; empty lines are skipped. */
export function readTable(text: string): Table {
  const clean = text.replace(/^\uFEFF/, "");
  const [columns = [], ...lines] = [...recordsOf(clean, separatorOf(clean))];
  return { columns, rows: lines.map((values, index) => rowOf(index + 2, columns, values)) };
}

function rowOf(number: number, columns: readonly string[], values: readonly string[]): Row {
  const named = columns.flatMap((column, index) => (values[index] ? [[column, values[index]] as const] : []));
  return { number, cells: Object.fromEntries(named), wrong: values.length === columns.length ? null : "cells" };
}

function* recordsOf(text: string, separator: string): Generator<string[]> {
  const plain = new RegExp(`[^${separator}\\r\\n]*`, "y");
  let at = 0;
  let count = 1;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      const cell = text[at] === '"' ? quoted(text, at, count) : unquoted(plain, text, at);
      record.push(cell.value);
      at = cell.end;
      if (text[at] !== separator) break;
      at += 1;
    }
    if (at < text.length && !/[\r\n]/.test(text[at] ?? "")) throw new NotCsv(count);
    at += text.startsWith("\r\n", at) ? 2 : 1;
    if (record.length === 1 && record[0] === "") continue;
    yield record;
    count += 1;
  }
}

interface Cell {
  readonly value: string;
  readonly end: number;
}

function unquoted(plain: RegExp, text: string, at: number): Cell {
  plain.lastIndex = at;
  const value = plain.exec(text)?.[0] ?? "";
  return { value, end: at + value.length };
}

function quoted(text: string, at: number, count: number): Cell {
  let value = "";
  for (let from = at + 1; ; ) {
    const end = text.indexOf('"', from);
    if (end < 0) throw new NotCsv(count);
    value += text.slice(from, end);
    if (text[end + 1] !== '"') return { value, end: end + 1 };
    value += '"';
    from = end + 2;
  }
}

/** Escapes formulas, commas, quotes and line breaks. */
function written(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^[+-]?\d[\d .()-]*$/.test(value) ? `'${value}` : value;
  return /[",\r\n;\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const writeCsv = (lines: readonly (readonly string[])[]): string =>
  lines.map((line) => `${line.map(written).join(",")}\r\n`).join("");
