/** The desk, for whoever shows a part of it. */

import { createContext, useContext, useSyncExternalStore } from "react";

import type { Desk } from "./desk";
import type { Shown } from "./shown";

export const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === null) throw new Error("outside of a DeskContext");
  return desk;
}

/** Part of what is shown; `select` gives the same object as long as that part is the same. */
export function useShown<Part>(select: (shown: Shown) => Part): Part {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => select(desk.shown));
}
