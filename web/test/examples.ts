import type { Conversation, Message } from "../src/model";

export const aMessage = (changed: Partial<Message>): Message => ({
  message_id: `m${changed.position ?? 1}`,
  conversation_id: "1",
  position: 1,
  sender_id: "contact:7",
  client_message_id: null,
  content: { type: "text", text: "hello" },
  timestamp: "2026-11-16T10:00:00Z",
  status: null,
  error: null,
  outbound_id: null,
  provider_message_id: null,
  media: null,
  ...changed,
});

export const aConversation = (changed: Partial<Conversation>): Conversation => ({
  conversation_id: "1",
  kind: "customer",
  title: null,
  members: [],
  phone_number_id: "1001",
  contact: { contact_id: "7", name: "Ada", username: null, phone: "+15550001111", user_id: null, dossier_id: 1 },
  floor: "bot",
  assignee: null,
  state: "open",
  labels: [],
  last_message: null,
  unread: 0,
  read_position: 0,
  active_at: "2026-11-16T09:00:00Z",
  window_expires_at: null,
  turn: null,
  created_at: "2026-11-16T09:00:00Z",
  ...changed,
});
