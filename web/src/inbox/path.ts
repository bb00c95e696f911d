/** Inbox URLs: `/inbox` is the list, `/inbox/{id}` a conversation, `/inbox/{id}?at={position}` a message in it. */

import { go, useAddress } from "../path";

export const conversationIn = (path: string): string | null => /^\/inbox\/(\d+)$/.exec(path)?.[1] ?? null;

export const useConversationInPath = (): string | null => useAddress(({ pathname }) => conversationIn(pathname));

export const positionIn = (search: string): number | null => {
  const found = /[?&]at=(\d{1,15})(?:&|$)/.exec(search)?.[1];
  return found === undefined ? null : Number(found);
};

export const usePositionInPath = (): number | null => useAddress(({ search }) => positionIn(search));

export const pathTo = (conversation: string, position?: number): string => `/inbox/${conversation}${position === undefined ? "" : `?at=${position}`}`;

export const goTo = (conversation: string | null, position?: number): void => go(conversation === null ? "/inbox" : pathTo(conversation, position));
