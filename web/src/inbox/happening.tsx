/** A line between messages: who took over, handed back, assigned, closed; and where the 24 hours ended. */

import { ANYBODY, BOT } from "../live/filters";
import type { Told } from "../live/happenings";
import { texts } from "../texts";
import { clockTime } from "../time";
import styles from "./bubble.module.css";
import type { Names } from "./use-names";

const said = texts.happened;

export function Happening({ deed, at, me, names }: { readonly deed: Told; readonly at: string; readonly me: string; readonly names: Names }) {
  return (
    <div className={styles["happening"]} data-deed={deed.is}>
      <span>
        <bdi>{wordsOf(deed, me, names)}</bdi> · <time dateTime={at}>{clockTime(at)}</time>
      </span>
    </div>
  );
}

export function wordsOf(deed: Told, me: string, names: Names): string {
  if (deed.is === "window") return said.window;
  const by = names(deed.by);
  switch (deed.is) {
    case "floor":
      return floor(deed.to, deed.by, me, names);
    case "assigned":
      if (deed.to === null) return said.unassigned(by);
      return deed.to === deed.by ? said.assignedSelf(by) : said.assigned(by, deed.to === me ? said.toYou : names(deed.to));
    case "state":
      return deed.to === "closed" ? said.closed(by) : said.opened(by);
    case "labels":
      return deed.labels.length === 0 ? said.noLabels(by) : said.labels(by, deed.labels.join(", "));
    case "title":
      return said.titled(by, deed.to);
  }
}

function floor(to: string, by: string, me: string, names: Names): string {
  if (to === BOT) return by === BOT ? said.botBack : said.handedBack(names(by));
  if (to === ANYBODY) return by === BOT ? said.gaveUp : said.anybody(names(by));
  if (to !== by) return said.gave(names(by), to === me ? said.toYou : names(to));
  return by === me ? said.youTookOver : said.tookOver(names(by));
}
