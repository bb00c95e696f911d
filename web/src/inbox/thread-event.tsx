/** A separator between messages: handovers, assignments, status changes, and the end of the 24-hour window. */

import { ANYBODY, BOT } from "../live/filters";
import type { ThreadAction } from "../live/thread-events";
import { texts } from "../texts";
import { clockTime } from "../time";
import styles from "./bubble.module.css";
import type { Names } from "./use-names";

const labels = texts.events;

export function ThreadEvent({ action, at, me, names }: { readonly action: ThreadAction; readonly at: string; readonly me: string; readonly names: Names }) {
  return (
    <div className={styles["event"]} data-action={action.is}>
      <span>
        <bdi>{eventText(action, me, names)}</bdi> · <time dateTime={at}>{clockTime(at)}</time>
      </span>
    </div>
  );
}

export function eventText(action: ThreadAction, me: string, names: Names): string {
  if (action.is === "window") return labels.window;
  const by = names(action.by);
  switch (action.is) {
    case "floor":
      return floor(action.to, action.by, me, names);
    case "assigned":
      if (action.to === null) return labels.unassigned(by);
      return action.to === action.by ? labels.assignedSelf(by) : labels.assigned(by, action.to === me ? labels.toYou : names(action.to));
    case "state":
      return action.to === "closed" ? labels.closed(by) : labels.opened(by);
    case "labels":
      return action.labels.length === 0 ? labels.noLabels(by) : labels.labels(by, action.labels.join(", "));
    case "title":
      return labels.titled(by, action.to);
  }
}

function floor(to: string, by: string, me: string, names: Names): string {
  if (to === BOT) return by === BOT ? labels.botBack : labels.handedBack(names(by));
  if (to === ANYBODY) return by === BOT ? labels.gaveUp : labels.anybody(names(by));
  if (to !== by) return labels.gave(names(by), to === me ? labels.toYou : names(to));
  return by === me ? labels.youTookOver : labels.tookOver(names(by));
}
