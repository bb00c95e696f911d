/** Audit entries as sentences, and the filter in the URL. */

import type { components } from "../../api/schema";
import { words } from "./texts";

export type Entry = components["schemas"]["AuditView"];

export const TYPES: readonly string[] = Object.keys(words.types);

export interface Wanted {
  readonly type: string;
  readonly id: string;
}

/** An ID without a type is ignored. */
export function wantedIn(search: string): Wanted {
  const params = new URLSearchParams(search);
  const type = params.get("type") ?? "";
  return TYPES.includes(type) ? { type, id: params.get("id")?.trim() ?? "" } : { type: "", id: "" };
}

export function addressOf({ type, id }: Wanted): string {
  if (type === "") return "/console/audit";
  return `/console/audit?${new URLSearchParams({ type, ...(id !== "" && { id }) }).toString()}`;
}

export const sentenceOf = ({ entityType, entityId, action }: Entry): string =>
  `${words.types[entityType] ?? entityType} ${entityId} ${words.actions[action] ?? action}`;

/** The page of the entity, if there is one. */
export function linkOf({ entityType, entityId }: Entry): string | null {
  const id = encodeURIComponent(entityId);
  if (entityType === "OUTBOUND_MESSAGE") return `/console/outbox/${id}`;
  if (entityType === "DOSSIER") return `/console/outbox?dossier=${id}`;
  if (entityType === "CONVERSATION") return `/inbox/${id}`;
  return null;
}
