/** The page's types, from the server's OpenAPI document. */

import type { components } from "./api/schema";

type Schemas = components["schemas"];

export type Conversation = Schemas["ConversationView"];
export type Message = Schemas["ChatMessage"];
export type Found = Schemas["FoundView"];
export type Me = Schemas["SessionView"];
export type AuditEntry = Schemas["AuditView"];
export type Colleague = Schemas["Colleague"];
export type Consent = Schemas["ConsentView"];
export type Dossier = Schemas["DossierView"];
export type Activity = Schemas["ActivityView"];
export type Template = Schemas["TemplateView"];
export type TemplateParameter = Schemas["ParameterView"];
export type Preview = Schemas["PreviewView"];
export type QuickReply = Schemas["QuickReplyView"];
export type MessageFile = Schemas["MessageFile"];
export type MessageStatus = Message["status"];
