/** What an entry of the audit says that was done to a conversation: read here once, told in the thread and in the console. Pure. */

import type { Audited } from "../model";

export type Deed =
  /** `why` is the server's own word for it. */
  | { readonly is: "floor"; readonly from: string; readonly to: string; readonly why: string | null; readonly by: string }
  | { readonly is: "assigned"; readonly to: string | null; readonly by: string }
  | { readonly is: "state"; readonly to: "open" | "closed"; readonly by: string }
  | { readonly is: "labels"; readonly labels: readonly string[]; readonly by: string }
  | { readonly is: "title"; readonly to: string; readonly by: string };

/** In the order of the text, with null for a part of it that is not of a known shape; none of what is no such entry at all. */
export function deedsOf({ entityType, action, actor, details }: Pick<Audited, "entityType" | "action" | "actor" | "details">): readonly (Deed | null)[] {
  if (entityType !== "CONVERSATION") return [];
  if (action === "FLOOR_CHANGED") return [floorIn(details, actor)];
  return action === "UPDATED" ? Object.entries(objectIn(details)).map(([name, value]) => partOf(name, value, actor)) : [];
}

const FLOOR = /^from (\S+) to ([^\s:]+)(?:: (.+))?$/s;

function floorIn(details: string, by: string): Deed | null {
  const [, from, to, why] = FLOOR.exec(details) ?? [];
  return from === undefined || to === undefined ? null : { is: "floor", from, to, why: why ?? null, by };
}

function partOf(name: string, value: unknown, by: string): Deed | null {
  switch (name) {
    case "assignee":
      return value === null || typeof value === "string" ? { is: "assigned", to: value, by } : null;
    case "state":
      return value === "open" || value === "closed" ? { is: "state", to: value, by } : null;
    case "labels":
      return Array.isArray(value) ? { is: "labels", labels: value.map(String), by } : null;
    case "title":
      return typeof value === "string" ? { is: "title", to: value, by } : null;
    default:
      return null;
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
