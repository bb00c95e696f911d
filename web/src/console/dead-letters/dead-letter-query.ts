/** Loads the dead letters, up to a limit. */

import { ask, call } from "../api";
import type { OutboundMessage } from "../message/model";

const AT_ONCE = 1_000;
const MOST = 3_000;
/** The list is large, so it is refreshed rarely; a button refreshes it on demand. */
const EVERY_MS = 60_000;

export interface DeadLetterList {
  readonly messages: readonly OutboundMessage[];
  readonly more: boolean;
}

/** Enough to show all groups; `more` is set if there are others. */
async function readDeadLetters(): Promise<DeadLetterList> {
  const messages: OutboundMessage[] = [];
  for (;;) {
    const before = messages.at(-1)?.id ?? null;
    const { content } = await ask(call("get", "/api/v1/outbound/dead-letters", { query: { before, limit: AT_ONCE } }));
    messages.push(...content);
    if (content.length < AT_ONCE) return { messages, more: false };
    if (messages.length >= MOST) return { messages, more: true };
  }
}

export const DEAD_LETTERS = {
  queryKey: ["api", "dead-letters"],
  queryFn: readDeadLetters,
  refetchInterval: EVERY_MS,
  staleTime: EVERY_MS / 2,
  refetchOnWindowFocus: true,
};
