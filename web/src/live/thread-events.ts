/** Events between messages, read from the audit log, so that they survive a reload and name their author. */

import type { AuditEntry } from "../model";
import { auditActionsOf, type AuditAction } from "./audit-actions";

/** An action of a user, or the end of the 24-hour window. */
export type ThreadAction = AuditAction | { readonly is: "window" };

export interface ThreadEvent {
  readonly key: string;
  readonly at: string;
  readonly action: ThreadAction;
}

/** Oldest first. Unknown entries are omitted. */
export function threadEventsOf(entries: readonly AuditEntry[]): readonly ThreadEvent[] {
  const found = entries.flatMap((entry) => auditActionsOf(entry).flatMap((action, index) => (action === null ? [] : [{ key: `action:${entry.id}:${index}`, at: entry.at, action }])));
  return found.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
