/** Parses audit entries of a conversation; used by the thread and the console. Pure. */

import type { AuditEntry } from "../model";

export type AuditAction =
  /** `why` is the server's reason. */
  | { readonly is: "floor"; readonly from: string; readonly to: string; readonly why: string | null; readonly by: string }
  | { readonly is: "assigned"; readonly to: string | null; readonly by: string }
  | { readonly is: "state"; readonly to: "open" | "closed"; readonly by: string }
  | { readonly is: "labels"; readonly labels: readonly string[]; readonly by: string }
  | { readonly is: "title"; readonly to: string; readonly by: string };

/** In the order of the entry, with null for unknown parts; empty for entries of another kind. */
export function auditActionsOf({ entityType, action, actor, details }: Pick<AuditEntry, "entityType" | "action" | "actor" | "details">): readonly (AuditAction | null)[] {
  if (entityType !== "CONVERSATION") return [];
  if (action === "FLOOR_CHANGED") return [floorIn(details, actor)];
  return action === "UPDATED" ? Object.entries(objectIn(details)).map(([name, value]) => partOf(name, value, actor)) : [];
}

const FLOOR = /^from (\S+) to ([^\s:]+)(?:: (.+))?$/s;

function floorIn(details: string, by: string): AuditAction | null {
  const [, from, to, why] = FLOOR.exec(details) ?? [];
  return from === undefined || to === undefined ? null : { is: "floor", from, to, why: why ?? null, by };
}

function partOf(name: string, value: unknown, by: string): AuditAction | null {
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
