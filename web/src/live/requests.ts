/** API requests of the inbox that the live client does not cover; typed by the OpenAPI document. */

import type { WaypostClient } from "@waypost/client";

import type { components } from "../api/schema";
import type { Activity, AuditEntry, Colleague, Consent, Conversation, Dossier, Found, Preview, QuickReply, Template } from "../model";

type Client = Pick<WaypostClient, "request">;
type Schemas = components["schemas"];

const at = (conversation: string): string => `/conversations/${encodeURIComponent(conversation)}`;

export async function team(client: Client): Promise<readonly Colleague[]> {
  return ((await client.request("/team")) as Schemas["Team"]).people;
}

export async function search(client: Client, words: string): Promise<readonly Found[]> {
  return ((await client.request("/search", { query: { q: words } })) as Schemas["FoundList"]).results;
}

/** An internal note; unlike messages, notes are not queued while offline. */
export async function writeNote(client: Client, conversation: string, text: string): Promise<void> {
  await client.request(`${at(conversation)}/notes`, { method: "POST", body: { text } });
}

export async function auditTrail(client: Client, conversation: string): Promise<readonly AuditEntry[]> {
  const query = { entityType: "CONVERSATION", entityId: conversation, limit: 200 };
  return ((await client.request("/outbound/audit", { query })) as Schemas["AuditList"]).content;
}

export async function dossier(client: Client, id: number): Promise<Dossier> {
  return (await client.request(`/dossiers/${id}`)) as Dossier;
}

export async function changeDossier(client: Client, id: number, change: Schemas["ChangeDossier"]): Promise<Dossier> {
  return (await client.request(`/dossiers/${id}`, { method: "PATCH", body: change })) as Dossier;
}

export async function consents(client: Client, dossierId: number): Promise<readonly Consent[]> {
  return ((await client.request("/outbound/consents", { query: { dossierId } })) as Schemas["ConsentList"]).content;
}

export async function putConsent(client: Client, consent: Schemas["PutConsent"]): Promise<void> {
  await client.request("/outbound/consents", { method: "PUT", body: consent });
}

export async function activities(client: Client, dossierId: number): Promise<readonly Activity[]> {
  return ((await client.request("/outbound/activities", { query: { dossierId, limit: 30 } })) as Schemas["ActivityList"]).content;
}

export async function templates(client: Client): Promise<readonly Template[]> {
  return ((await client.request("/outbound/templates")) as Schemas["TemplateList"]).content;
}

export async function preview(client: Client, name: string, body: Schemas["PreviewTemplate"]): Promise<Preview> {
  return (await client.request(`/outbound/templates/${encodeURIComponent(name)}/preview`, { method: "POST", body })) as Preview;
}

const quick = (name: string): string => `/quick-replies/${encodeURIComponent(name)}`;

export async function quickReplies(client: Client): Promise<readonly QuickReply[]> {
  return ((await client.request("/quick-replies")) as Schemas["QuickReplyList"]).quick_replies;
}

/** Replaces the one called `replaces` atomically; null adds a new one and never replaces another. */
export async function putQuickReply(client: Client, name: string, text: string, replaces: string | null): Promise<QuickReply> {
  const body: Schemas["PutQuickReply"] = { text, replaces };
  return (await client.request(quick(name), { method: "PUT", body })) as QuickReply;
}

export async function removeQuickReply(client: Client, name: string): Promise<void> {
  await client.request(quick(name), { method: "DELETE" });
}

/** Sends the same message again. */
export async function retry(client: Client, outboundId: number): Promise<void> {
  await client.request(`/outbound/messages/${outboundId}/retry`, { method: "POST" });
}

export async function giveFloor(client: Client, conversation: string, holder: string): Promise<Conversation> {
  return (await client.request(`${at(conversation)}/floor`, { method: "POST", body: { holder } })) as Conversation;
}

export async function change(client: Client, conversation: string, changed: Schemas["ChangeConversation"]): Promise<Conversation> {
  return (await client.request(at(conversation), { method: "PATCH", body: changed })) as Conversation;
}

export async function conversation(client: Client, id: string): Promise<Conversation> {
  return (await client.request(at(id))) as Conversation;
}
