/** The shared case table, with one test per entry of a section. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** The table is in `clients/`, next to this package; WAYPOST_CASES overrides the path. */
const TABLE = process.env["WAYPOST_CASES"] ?? join(process.cwd(), "..", "cases.json");

const table = JSON.parse(readFileSync(TABLE, "utf8")) as Record<string, unknown[]>;

export function eachCase<Case>(section: string, run: (given: Case) => void): void {
  const cases = table[section] ?? [];
  if (cases.length === 0) throw new Error(`${TABLE} has no section ${section}`);
  for (const given of cases) {
    const { name } = given as { name?: string };
    test(`${section}: ${name ?? JSON.stringify(given)}`, () => run(given as Case));
  }
}
