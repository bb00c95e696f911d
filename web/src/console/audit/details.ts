/** A sentence for the details of known audit entries; the raw text is shown next to it. */

import { auditActionsOf, type AuditAction } from "../../live/audit-actions";
import type { Entry } from "./entries";
import { words } from "./texts";

type NameOf = (who: string) => string;

/** Null if the details are unknown, or only partly known. */
export function describeDetails(entry: Entry, named: NameOf): string | null {
  const parts = auditActionsOf(entry).map((action) => (action === null ? null : actionText(action, named)));
  if (parts.length === 0 || parts.includes(null)) return null;
  const whole = parts.join("; ");
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

function actionText(action: AuditAction, named: NameOf): string {
  const { change } = words;
  switch (action.is) {
    case "floor": {
      const who = (floor: string): string => words.floors[floor] ?? named(floor);
      return words.floor(who(action.from), who(action.to), action.why === null ? null : (words.reasons[action.why] ?? action.why));
    }
    case "assigned":
      return action.to === null ? change.unassigned : change.assignee(named(action.to));
    case "state":
      return action.to === "closed" ? change.closed : change.open;
    case "labels":
      return action.labels.length === 0 ? change.noLabels : change.labels(action.labels.join(", "));
    case "title":
      return change.title(action.to);
  }
}
