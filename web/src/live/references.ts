/** Messages that refer to others: reactions and replies. */

import type { Message } from "../model";

export interface Reaction {
  readonly sender: string;
  readonly emoji: string;
}

export interface Reactions {
  /** By the provider's message ID; the latest reaction of each sender. */
  readonly of: ReadonlyMap<string, readonly Reaction[]>;
  /** The messages that are such reactions; they have no row of their own. */
  readonly attached: ReadonlySet<string>;
}

export function reactionsIn(messages: readonly Message[]): Reactions {
  const known = new Set(messages.map(({ provider_message_id }) => provider_message_id));
  const latest = new Map<string, Map<string, Reaction>>();
  const attached = new Set<string>();
  for (const { message_id, sender_id: sender, content } of messages) {
    if (content["type"] !== "reaction") continue;
    const of = partOf(content, "reaction")["message_id"];
    if (typeof of !== "string" || !known.has(of)) continue;
    const emoji = partOf(content, "reaction")["emoji"];
    attached.add(message_id);
    const theirs = latest.get(of) ?? new Map<string, Reaction>();
    if (typeof emoji === "string" && emoji !== "") theirs.set(sender, { sender, emoji });
    else theirs.delete(sender);
    latest.set(of, theirs);
  }
  return { of: new Map([...latest].map(([of, theirs]) => [of, [...theirs.values()]])), attached };
}

/** The provider ID of the quoted message: customers send `id`, we send `message_id`. */
export function namedBy(content: Message["content"]): string | null {
  const context = partOf(content, "context");
  const named = context["id"] ?? context["message_id"];
  return typeof named === "string" && named !== "" ? named : null;
}

/** A nested object of the content; an empty object if it is anything else. */
export function partOf(content: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const found = content[name];
  return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : {};
}
