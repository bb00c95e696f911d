/** The address of the inbox: `/inbox` is the list, `/inbox/{id}` a conversation. */

import { go, useAddress } from "../path";

export const conversationIn = (path: string): string | null => /^\/inbox\/(\d+)$/.exec(path)?.[1] ?? null;

export const useConversationInPath = (): string | null => useAddress(({ pathname }) => conversationIn(pathname));

export const goTo = (conversation: string | null): void => go(conversation === null ? "/inbox" : `/inbox/${conversation}`);
