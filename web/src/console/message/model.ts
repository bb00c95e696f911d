/** An outbound message in few words. */

import type { components } from "../../api/schema";
import { texts } from "../../texts";
import { words } from "./texts";

export type OutboundMessage = components["schemas"]["MessageView"];
export type Attempt = components["schemas"]["AttemptView"];
export type TimelineEvent = components["schemas"]["TimelineEvent"];

/** A read message is DELIVERED with the time of reading beside it. */
export const statusOf = ({ status, readAt }: OutboundMessage): string => (status === "DELIVERED" && readAt !== null ? "READ" : status);

const LONGEST = 140;

/** The template's name, the beginning of the text, or what kind of thing it is. */
export function summaryOf({ templateCode, subject, payloadJson }: Pick<OutboundMessage, "templateCode" | "subject" | "payloadJson">): string {
  if (templateCode !== null) return words.template(templateCode);
  const said = (subject ?? textIn(payloadJson)).replace(/\s+/g, " ").trim();
  const [first, rest] = [[...said].slice(0, LONGEST).join(""), [...said].length > LONGEST];
  return first === "" ? words.empty : rest ? `${first}…` : first;
}

/** Looked for where the Cloud API has it: `{text}`, `{type, [type]: {body | caption}}`; else the type. */
export function textIn(payload: unknown): string {
  const { text, type } = asRecord(payload);
  if (typeof text === "string") return text;
  if (typeof type !== "string") return "";
  const inner = asRecord(asRecord(payload)[type]);
  const said = [inner["body"], asRecord(inner["body"])["text"], inner["caption"], inner["name"], inner["filename"]].find((each) => typeof each === "string" && each !== "");
  if (type === "text") return typeof said === "string" ? said : "";
  const kind = texts.content[type] ?? type;
  return typeof said === "string" ? `${kind}: ${said}` : kind;
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

/** The provider repeats its code in its words. */
export const saidOf = (code: string | null, said: string | null): string => (said ?? "").replace(`(#${code ?? ""}) `, "");

/** Seconds between an event and the one before it; null for the first. */
export function gapsOf(events: readonly TimelineEvent[]): readonly (number | null)[] {
  return events.map(({ at }, index) => {
    const before = events[index - 1];
    return before === undefined ? null : Math.max(0, (Date.parse(at) - Date.parse(before.at)) / 1000);
  });
}

/** FAILED and CANCELLED can be sent again, and what is parked until a person decides; a later event ends that. */
export function canBeRetried({ status }: OutboundMessage, events: readonly TimelineEvent[]): boolean {
  return status === "FAILED" || status === "CANCELLED" || (status === "SENDING" && isParked(events));
}

export const isParked = (events: readonly TimelineEvent[]): boolean =>
  events.findLast(({ kind }) => kind === "parked" || kind === "retried" || kind === "replayed" || kind === "requeued")?.kind === "parked";

let cameFrom = "/console/outbox";

/** The way back from a message leads to the list that it was found in. */
export const comesFrom = (address: string): void => {
  cameFrom = address;
};
export const wayBack = (): string => cameFrom;
