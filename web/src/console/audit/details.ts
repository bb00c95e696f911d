/** What an entry's details say, where they are of a known shape: a short sentence; the text itself stays beside it. */

import type { Entry } from "./entries";
import { words } from "./texts";

type Named = (who: string) => string;

/** Null: nothing is known about it that the text does not say itself. */
export function saidOf({ entityType, action, details }: Pick<Entry, "entityType" | "action" | "details">, named: Named): string | null {
  if (entityType !== "CONVERSATION") return null;
  if (action === "FLOOR_CHANGED") return floorIn(details, named);
  return action === "UPDATED" ? changeIn(details, named) : null;
}

const FLOOR = /^from (\S+) to ([^\s:]+)(?:: (.+))?$/s;

function floorIn(details: string, named: Named): string | null {
  const [, before, after, why] = FLOOR.exec(details) ?? [];
  if (before === undefined || after === undefined) return null;
  const who = (floor: string): string => words.floors[floor] ?? named(floor);
  return words.floor(who(before), who(after), why === undefined ? null : (words.reasons[why] ?? why));
}

function changeIn(details: string, named: Named): string | null {
  const change = objectIn(details);
  const said = Object.entries(change ?? {}).map(([name, value]) => partOf(name, value, named));
  if (said.length === 0 || said.includes(null)) return null;
  const whole = said.join("; ");
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Null for what is not of the shape that is known: then the text is shown as it is. */
function partOf(name: string, value: unknown, named: Named): string | null {
  if (name === "assignee") return value === null ? words.change.nobody : typeof value === "string" ? words.change.assignee(named(value)) : null;
  if (name === "state") return value === "closed" ? words.change.closed : value === "open" ? words.change.open : null;
  if (name === "title") return typeof value === "string" ? words.change.title(value) : null;
  if (name !== "labels" || !Array.isArray(value)) return null;
  return value.length === 0 ? words.change.noLabels : words.change.labels(value.map(String).join(", "));
}
