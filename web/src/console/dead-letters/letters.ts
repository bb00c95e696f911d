/** The dead letters, as far as they are read. */

import { ask, call } from "../api";
import type { OutboundMessage } from "../message/model";

const AT_ONCE = 1_000;
const MOST = 3_000;
/** They are many, and whole: who wants to know sooner asks. */
const EVERY_MS = 60_000;

export interface Letters {
  readonly messages: readonly OutboundMessage[];
  readonly more: boolean;
}

/** So many that groups can be told from each other; the rest is only said to be there. */
async function readLetters(): Promise<Letters> {
  const messages: OutboundMessage[] = [];
  for (;;) {
    const before = messages.at(-1)?.id ?? null;
    const { content } = await ask(call("get", "/api/v1/outbound/dead-letters", { query: { before, limit: AT_ONCE } }));
    messages.push(...content);
    if (content.length < AT_ONCE) return { messages, more: false };
    if (messages.length >= MOST) return { messages, more: true };
  }
}

export const LETTERS = {
  queryKey: ["api", "dead-letters"],
  queryFn: readLetters,
  refetchInterval: EVERY_MS,
  staleTime: EVERY_MS / 2,
  refetchOnWindowFocus: true,
};
