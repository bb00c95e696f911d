/** What happened beside what was said: read from the audit trail, so that it is there after a reload and says who did it. */

import type { Audited } from "../model";

export type Deed =
  | { readonly is: "floor"; readonly to: string; readonly by: string }
  | { readonly is: "assigned"; readonly to: string | null; readonly by: string }
  | { readonly is: "state"; readonly to: string; readonly by: string }
  | { readonly is: "labels"; readonly labels: readonly string[]; readonly by: string }
  | { readonly is: "window" };

export interface Happening {
  readonly key: string;
  readonly at: string;
  readonly deed: Deed;
}

/** Oldest first. What the page does not know how to tell is left out. */
export function happeningsOf(trail: readonly Audited[]): readonly Happening[] {
  const found = trail.flatMap((entry) => deedsOf(entry).map((deed, index) => ({ key: `deed:${entry.id}:${index}`, at: entry.at, deed })));
  return found.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function deedsOf({ action, actor: by, details }: Audited): readonly Deed[] {
  if (action === "FLOOR_CHANGED") {
    const to = /^from \S+ to ([^\s:]+)/.exec(details)?.[1];
    return to === undefined ? [] : [{ is: "floor", to, by }];
  }
  if (action !== "UPDATED") return [];
  const changed = objectIn(details);
  const deeds: Deed[] = [];
  if ("assignee" in changed) deeds.push({ is: "assigned", to: textOrNull(changed["assignee"]), by });
  if (typeof changed["state"] === "string") deeds.push({ is: "state", to: changed["state"], by });
  if (Array.isArray(changed["labels"])) deeds.push({ is: "labels", labels: changed["labels"].map(String), by });
  return deeds;
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
