/** Groups dead letters by error, and counts the outcomes of messages that were sent again. */

import { backoffDelay } from "../../poll-interval";
import type { OutboundMessage } from "../message/model";

export interface Group {
  /** Empty for messages without a code. */
  readonly code: string;
  readonly channel: string;
  /** Newest first. */
  readonly messages: readonly OutboundMessage[];
}

/** The largest group first; of equal ones, the one with the newest message. */
export function groupsOf(messages: readonly OutboundMessage[]): readonly Group[] {
  const found = new Map<string, OutboundMessage[]>();
  for (const message of messages) {
    const code = message.errorCode ?? "";
    const group = found.get(code);
    if (group === undefined) found.set(code, [message]);
    else group.push(message);
  }
  const groups = [...found].map(([code, all]) => ({ code, messages: all, channel: all[0]?.channel ?? "WHATSAPP" }));
  return groups.sort((one, other) => other.messages.length - one.messages.length || (other.messages[0]?.id ?? 0) - (one.messages[0]?.id ?? 0));
}

export type Fate = "delivered" | "sent" | "waiting" | "failed" | "cancelled";

const FATES: Readonly<Record<OutboundMessage["status"], Fate>> = {
  QUEUED: "waiting",
  SENDING: "waiting",
  SENT: "sent",
  DELIVERED: "delivered",
  FAILED: "failed",
  CANCELLED: "cancelled",
};

export function fatesOf(messages: readonly OutboundMessage[]): Readonly<Record<Fate, number>> {
  const tally = { delivered: 0, sent: 0, waiting: 0, failed: 0, cancelled: 0 };
  for (const { status } of messages) tally[FATES[status]] += 1;
  return tally;
}

/** All messages have a final status. */
export const isOver = (messages: readonly OutboundMessage[]): boolean => messages.every(({ status }) => FATES[status] !== "waiting" && FATES[status] !== "sent");

interface Looked {
  readonly data: readonly OutboundMessage[] | undefined;
  readonly dataUpdatedAt: number;
  readonly errorUpdatedAt: number;
}

const FIRST_LOOK_MS = 1_500;
const FOLLOWED_MS = 5 * 60_000;

/** Polling has ended although some messages have no final status: a delivery may take days. */
export const isGivenUp = ({ data, dataUpdatedAt, errorUpdatedAt }: Looked, begun: number): boolean =>
  !(data !== undefined && isOver(data)) && Math.max(dataUpdatedAt, errorUpdatedAt) - begun >= FOLLOWED_MS;

/** The delay in milliseconds; false: no further poll. */
export function nextLook(looked: Looked & { readonly dataUpdateCount: number; readonly errorUpdateCount: number }, begun: number): number | false {
  if (isGivenUp(looked, begun) || (looked.data !== undefined && isOver(looked.data))) return false;
  return backoffDelay(looked.dataUpdateCount + looked.errorUpdateCount - 1, FIRST_LOOK_MS);
}
