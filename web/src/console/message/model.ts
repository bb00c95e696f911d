/** Helpers for outbound messages. */

import type { components } from "../../api/schema";
import { texts } from "../../texts";
import { words } from "./texts";

export type OutboundMessage = components["schemas"]["MessageView"];
export type Attempt = components["schemas"]["AttemptView"];
export type TimelineEvent = components["schemas"]["TimelineEvent"];

/** A read message is DELIVERED with a `readAt`. */
export const statusOf = ({ status, readAt }: OutboundMessage): string => (status === "DELIVERED" && readAt !== null ? "READ" : status);

const LONGEST = 140;

/** The template's name, the start of the text, or the content type. */
export function summaryOf({ templateCode, subject, payloadJson }: Pick<OutboundMessage, "templateCode" | "subject" | "payloadJson">): string {
  if (templateCode !== null) return words.template(templateCode);
  const text = (subject ?? textIn(payloadJson)).replace(/\s+/g, " ").trim();
  const [first, rest] = [[...text].slice(0, LONGEST).join(""), [...text].length > LONGEST];
  return first === "" ? words.empty : rest ? `${first}…` : first;
}

/** The text as in the Cloud API: `{text}`, `{type, [type]: {body | caption}}`; otherwise the type. */
export function textIn(payload: unknown): string {
  const { text: plain, type } = asRecord(payload);
  if (typeof plain === "string") return plain;
  if (typeof type !== "string") return "";
  const inner = asRecord(asRecord(payload)[type]);
  const text = [inner["body"], asRecord(inner["body"])["text"], inner["caption"], inner["name"], inner["filename"]].find((each) => typeof each === "string" && each !== "");
  if (type === "text") return typeof text === "string" ? text : "";
  const kind = texts.content[type] ?? type;
  return typeof text === "string" ? `${kind}: ${text}` : kind;
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

/** Removes the error code that the provider repeats in its message. */
export const providerMessage = (code: string | null, message: string | null): string => (message ?? "").replace(`(#${code ?? ""}) `, "");

/** Seconds since the previous event; null for the first. */
export function gapsOf(events: readonly TimelineEvent[]): readonly (number | null)[] {
  return events.map(({ at }, index) => {
    const before = events[index - 1];
    return before === undefined ? null : Math.max(0, (Date.parse(at) - Date.parse(before.at)) / 1000);
  });
}

/** FAILED and CANCELLED messages can be sent again, and parked ones until a later event. */
export function canBeRetried({ status }: OutboundMessage, events: readonly TimelineEvent[]): boolean {
  return status === "FAILED" || status === "CANCELLED" || (status === "SENDING" && isParked(events));
}

export const isParked = (events: readonly TimelineEvent[]): boolean =>
  events.findLast(({ kind }) => kind === "parked" || kind === "retried" || kind === "replayed" || kind === "requeued")?.kind === "parked";

let cameFrom = "/console/outbox";

/** The back link leads to the list from which the message was opened. */
export const comesFrom = (address: string): void => {
  cameFrom = address;
};
export const wayBack = (): string => cameFrom;
