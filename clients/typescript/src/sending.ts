/** How a message is sent next and what a response means for it; pure functions, with the time as an argument. */

import type { ErrorFrame, Sent } from "./types.js";

export interface SendProgress {
  /** A socket has received its `welcome`. */
  readonly socket: boolean;
  readonly polling: boolean;
  /** On the current socket. */
  readonly tries: number;
  /** Since the message was due or last attempted. */
  readonly waited: number;
  /** What remains of a requested delay. */
  readonly not_before: number;
  /** Sockets that closed while this message was in flight on them. */
  readonly broke?: number;
}

export type Move =
  { readonly go: "socket" } | { readonly go: "rest"; readonly drop_socket?: true } | { readonly wait: number };

const TRIES_ON_A_SOCKET = 2;

/** After this many, the message itself may be what breaks them. */
const BROKEN_SOCKETS = 3;

export function nextMove(now: SendProgress, ackTimeout: number): Move {
  if (now.not_before > 0) return { wait: now.not_before };
  if (now.polling || (now.broke ?? 0) >= BROKEN_SOCKETS) return { go: "rest" };
  if (now.socket && now.tries === 0) return { go: "socket" };
  if (now.waited < ackTimeout) return { wait: ackTimeout - now.waited };
  if (!now.socket) return { go: "rest" };
  return now.tries < TRIES_ON_A_SOCKET ? { go: "socket" } : { go: "rest", drop_socket: true };
}

export type SendResult =
  | { readonly is: "sent"; readonly message_id: string; readonly position: number; readonly duplicate: boolean }
  | { readonly is: "refused"; readonly code: string; readonly detail?: string }
  | { readonly is: "later"; readonly ms: number }
  | { readonly is: "stop"; readonly code: number };

/** The result from a frame that names the message. */
export function resultFromFrame(frame: ({ readonly type: "ack" } & Sent) | ErrorFrame): SendResult {
  if (frame.type === "ack") return sent(frame);
  if (frame.retryable) return { is: "later", ms: 0 };
  return { is: "refused", code: frame.code, ...(frame.detail === undefined ? {} : { detail: frame.detail }) };
}

/** The result from a REST response; a 2xx without a `message_id` comes from a proxy and is retried. */
export function resultFromResponse(status: number, body: unknown, retryAfter: string | null = null): SendResult {
  const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  if (status === 401) return { is: "stop", code: 4401 };
  if (status < 300 && typeof fields["message_id"] === "string") return sent(fields as unknown as Sent);
  if (status < 400 || status >= 500 || [408, 425, 429].includes(status))
    return { is: "later", ms: milliseconds(retryAfter) };
  const code = typeof fields["code"] === "string" ? fields["code"] : `http_${status}`;
  return { is: "refused", code, ...(typeof fields["detail"] === "string" ? { detail: fields["detail"] } : {}) };
}

function sent({ message_id, position, duplicate }: Sent): SendResult {
  return { is: "sent", message_id, position, duplicate: duplicate === true };
}

function milliseconds(retryAfter: string | null): number {
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}
