/** The nouns of the page, as the server's OpenAPI document has them. */

import type { components } from "./api/schema";

type Schemas = components["schemas"];

export type Conversation = Schemas["ConversationView"];
export type Message = Schemas["ChatMessage"];
export type Found = Schemas["FoundView"];
export type Me = Schemas["SessionView"];
export type MessageStatus = Message["status"];
