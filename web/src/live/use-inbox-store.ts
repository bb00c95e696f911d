/** React hooks for the inbox store. */

import { createContext, useContext, useSyncExternalStore } from "react";

import type { InboxStore } from "./inbox-store";
import type { InboxState } from "./inbox-state";

export const InboxStoreContext = createContext<InboxStore | null>(null);

export function useInboxStore(): InboxStore {
  const store = useContext(InboxStoreContext);
  if (store === null) throw new Error("outside of an InboxStoreContext");
  return store;
}

/** A part of the state; `select` must return the same object while that part is unchanged. */
export function useInboxState<Part>(select: (state: InboxState) => Part): Part {
  const store = useInboxStore();
  return useSyncExternalStore(store.subscribe, () => select(store.state));
}
