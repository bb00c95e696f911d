/** What an entry's details say, where they are of a known shape: a short sentence; the text itself stays beside it. */

import { deedsOf, type Deed } from "../../live/deeds";
import type { Entry } from "./entries";
import { words } from "./texts";

type Named = (who: string) => string;

/** Null: nothing is known about it that the text does not say itself, or not everything. */
export function saidOf(entry: Entry, named: Named): string | null {
  const said = deedsOf(entry).map((deed) => (deed === null ? null : wordsOf(deed, named)));
  if (said.length === 0 || said.includes(null)) return null;
  const whole = said.join("; ");
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

function wordsOf(deed: Deed, named: Named): string {
  const { change } = words;
  switch (deed.is) {
    case "floor": {
      const who = (floor: string): string => words.floors[floor] ?? named(floor);
      return words.floor(who(deed.from), who(deed.to), deed.why === null ? null : (words.reasons[deed.why] ?? deed.why));
    }
    case "assigned":
      return deed.to === null ? change.nobody : change.assignee(named(deed.to));
    case "state":
      return deed.to === "closed" ? change.closed : change.open;
    case "labels":
      return deed.labels.length === 0 ? change.noLabels : change.labels(deed.labels.join(", "));
    case "title":
      return change.title(deed.to);
  }
}
