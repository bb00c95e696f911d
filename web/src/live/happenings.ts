/** What happened beside what was said: read from the audit trail, so that it is there after a reload and says who did it. */

import type { Audited } from "../model";
import { deedsOf, type Deed } from "./deeds";

/** Somebody's doing, or the end of the 24 hours, which is nobody's. */
export type Told = Deed | { readonly is: "window" };

export interface Happening {
  readonly key: string;
  readonly at: string;
  readonly deed: Told;
}

/** Oldest first. What the page does not know how to tell is left out. */
export function happeningsOf(trail: readonly Audited[]): readonly Happening[] {
  const found = trail.flatMap((entry) => deedsOf(entry).flatMap((deed, index) => (deed === null ? [] : [{ key: `deed:${entry.id}:${index}`, at: entry.at, deed }])));
  return found.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
