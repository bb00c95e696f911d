/** How a message goes out next and what an answer does to it: decisions, with the time as an argument. */

import type { ErrorFrame, Sent } from "./protocol.js";

export interface Situation {
  /** One is past its `welcome`. */
  readonly socket: boolean;
  readonly polling: boolean;
  /** On this socket. */
  readonly tries: number;
  /** Since the message was due or last tried. */
  readonly waited: number;
  /** What is left of the pause that an answer asked for. */
  readonly not_before: number;
  /** Sockets that ended while it was under way on them. */
  readonly broke?: number;
}

export type Move =
  { readonly go: "socket" } | { readonly go: "rest"; readonly drop_socket?: true } | { readonly wait: number };

const TRIES_ON_A_SOCKET = 2;

/** It may be the message that breaks them. */
const BROKEN_SOCKETS = 3;

export function nextMove(now: Situation, ackTimeout: number): Move {
  if (now.not_before > 0) return { wait: now.not_before };
  if (now.polling || (now.broke ?? 0) >= BROKEN_SOCKETS) return { go: "rest" };
  if (now.socket && now.tries === 0) return { go: "socket" };
  if (now.waited < ackTimeout) return { wait: ackTimeout - now.waited };
  if (!now.socket) return { go: "rest" };
  return now.tries < TRIES_ON_A_SOCKET ? { go: "socket" } : { go: "rest", drop_socket: true };
}

export type Outcome =
  | { readonly is: "sent"; readonly message_id: string; readonly position: number; readonly duplicate: boolean }
  | { readonly is: "refused"; readonly code: string; readonly detail?: string }
  | { readonly is: "later"; readonly ms: number }
  | { readonly is: "stop"; readonly code: number };

/** What a frame that names the message does to it. */
export function outcomeOfFrame(frame: ({ readonly type: "ack" } & Sent) | ErrorFrame): Outcome {
  if (frame.type === "ack") return sent(frame);
  if (frame.retryable) return { is: "later", ms: 0 };
  return { is: "refused", code: frame.code, ...(frame.detail === undefined ? {} : { detail: frame.detail }) };
}

/** What an answer of REST does to it; a 2xx without the message in it comes from somebody else on the way. */
export function outcomeOfAnswer(status: number, body: unknown, retryAfter: string | null = null): Outcome {
  const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  if (status === 401) return { is: "stop", code: 4401 };
  if (status < 300 && typeof fields["message_id"] === "string") return sent(fields as unknown as Sent);
  if (status < 400 || status >= 500 || [408, 425, 429].includes(status))
    return { is: "later", ms: milliseconds(retryAfter) };
  const code = typeof fields["code"] === "string" ? fields["code"] : `http_${status}`;
  return { is: "refused", code, ...(typeof fields["detail"] === "string" ? { detail: fields["detail"] } : {}) };
}

function sent({ message_id, position, duplicate }: Sent): Outcome {
  return { is: "sent", message_id, position, duplicate: duplicate === true };
}

function milliseconds(retryAfter: string | null): number {
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}
