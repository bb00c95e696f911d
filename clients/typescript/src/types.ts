/** The protocol: socket frames, feed items and REST bodies. */

/** The last delivered sequence number of each feed. */
export type Cursors = Readonly<Record<string, number>>;

export interface Content {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Message {
  readonly message_id: string;
  readonly conversation_id: string;
  readonly position: number;
  readonly sender_id: string;
  readonly client_message_id: string | null;
  readonly content: Content | null;
  readonly timestamp: string;
  readonly status: string;
  readonly [field: string]: unknown;
}

export type Kind = "message" | "status" | "deleted" | "read" | "members" | "floor" | "assigned" | "joined";

/** One change: the entry `seq` of a feed, which follows the entry `prev`. */
export interface Item {
  readonly feed: string;
  readonly seq: number;
  readonly prev: number;
  readonly kind: Kind | (string & {});
  readonly conversation_id?: string;
  /** Of a `message`; null if it no longer exists. */
  readonly message?: Message | null;
  /** Of a `joined`: another feed to follow from now on. */
  readonly joins?: { readonly feed: string; readonly from: number } | null;
  readonly [field: string]: unknown;
}

/** A larger frame would close the connection; such a message is sent by REST. */
export const LARGEST_FRAME = 64 * 1024;

/** A message to send; the id makes a retry idempotent. */
export interface Outgoing {
  readonly client_message_id: string;
  readonly conversation_id: string;
  readonly content: Content;
}

/** The server's confirmation that a message is stored. */
export interface Sent {
  readonly client_message_id: string;
  readonly message_id: string;
  readonly position: number;
  readonly duplicate: boolean;
}

export interface Conversation {
  readonly conversation_id: string;
  readonly kind: "customer" | "direct" | "group";
  readonly unread: number;
  readonly last_message: Message | null;
  readonly [field: string]: unknown;
}

export interface ConversationPage {
  readonly conversations: readonly Conversation[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

export interface MessagePage {
  readonly messages: readonly Message[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

/** The response to a long poll. */
export interface SyncResponse {
  readonly epoch: string;
  readonly heads: Cursors;
  readonly items: readonly Item[];
  readonly resync_required: boolean;
  /** The page was full: other feeds may not be complete. */
  readonly has_more: boolean;
}

export type ClientFrame =
  | {
      readonly type: "hello";
      readonly device_id: string;
      readonly token?: string;
      readonly epoch?: string;
      readonly cursors?: Cursors;
    }
  | ({ readonly type: "send" } & Outgoing)
  | { readonly type: "ack"; readonly feed: string; readonly seq: number }
  | { readonly type: "read"; readonly conversation_id: string; readonly message_id: string }
  | { readonly type: "typing"; readonly conversation_id: string }
  | { readonly type: "ping" };

export interface Welcome {
  readonly type: "welcome";
  readonly epoch: string;
  readonly heads: Cursors;
  readonly resumed: boolean;
  readonly heartbeat_ms: number;
}

export interface Resync {
  readonly type: "resync_required";
  readonly epoch: string;
  readonly heads: Cursors;
  readonly reason?: string;
}

export interface ErrorFrame {
  readonly type: "error";
  readonly code: string;
  readonly retryable: boolean;
  readonly client_message_id?: string;
  readonly detail?: string;
}

/** Typing or presence: displayed, never stored. */
export interface EphemeralEvent {
  readonly type: "typing" | "presence";
  readonly [field: string]: unknown;
}

export type ServerFrame =
  | Welcome
  | ({ readonly type: "item" } & Item)
  | { readonly type: "live"; readonly heads?: Cursors }
  | ({ readonly type: "ack" } & Sent)
  | EphemeralEvent
  | { readonly type: "pong"; readonly heads: Cursors }
  | Resync
  | ErrorFrame;

type Fields = Readonly<Record<string, unknown>>;

const isString = (value: unknown): boolean => typeof value === "string";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isMap = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isCursors = (value: unknown): boolean => isMap(value) && Object.values(value).every(isCount);

const SHAPES: Readonly<Record<ServerFrame["type"], (frame: Fields) => boolean>> = {
  welcome: (f) => isString(f["epoch"]) && isCursors(f["heads"]) && isCount(f["heartbeat_ms"]),
  item: (f) => isString(f["feed"]) && isCount(f["seq"]) && isCount(f["prev"]) && isString(f["kind"]),
  live: (f) => f["heads"] === undefined || isCursors(f["heads"]),
  ack: (f) => isString(f["client_message_id"]) && isString(f["message_id"]) && isCount(f["position"]),
  presence: () => true,
  typing: () => true,
  pong: (f) => isCursors(f["heads"]),
  resync_required: (f) => isString(f["epoch"]) && isCursors(f["heads"]),
  error: (f) => isString(f["code"]),
};

/** The frame, or null if this client does not know it; a newer server may send more. */
export function parseFrame(text: unknown): ServerFrame | null {
  if (typeof text !== "string") return null;
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isMap(frame) || typeof frame["type"] !== "string" || !Object.hasOwn(SHAPES, frame["type"])) return null;
  return SHAPES[frame["type"] as ServerFrame["type"]](frame) ? (frame as unknown as ServerFrame) : null;
}
