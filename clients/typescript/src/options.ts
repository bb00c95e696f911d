/** Client options and events. */

import { REAL_CLOCK, type Clock } from "./clock.js";
import { newId } from "./ids.js";
import type { SocketConstructor } from "./websocket.js";
import type { Item, EphemeralEvent } from "./types.js";
import type { Fetch } from "./rest.js";
import type { OutgoingChange } from "./post.js";
import type { State } from "./connection_state.js";
import { MemoryStorage, type KeyValue } from "./storage.js";
import { DEFAULTS, type Timings } from "./timing.js";

export interface ClientOptions {
  /** The server's origin, without a path: `https://chat.example.com`. */
  readonly url: string;
  /** A user token. If omitted, the cookie of `POST /api/v1/session` is used; only for pages of the server. */
  readonly token?: string;
  /** Unique for each tab and process; a tab keeps it in `sessionStorage`. */
  readonly deviceId: string;
  /** `localStorage` or a `FileStorage`; if omitted, nothing survives the client. */
  readonly storage?: KeyValue;
  /** Required where there is no global `WebSocket`, as in Node 20. */
  readonly WebSocket?: SocketConstructor;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  /** A number from 0 to 1, like `Math.random`. */
  readonly random?: () => number;
  readonly newId?: () => string;
  readonly timings?: Partial<Timings>;
  /** Overrides the stored epoch. */
  readonly epoch?: string;
}

export interface ClientEvents {
  /** `code`: the reason for stopping, 0 if requested by the application; only with `stopped`. */
  state: { readonly state: State; readonly code?: number };
  /** Clear the screen and reload conversations and histories. Items are held until the listener's promise resolves. */
  reset: { readonly reason: string };
  /** The next change. It counts as delivered once the listeners have returned. */
  item: Item;
  typing: EphemeralEvent;
  presence: EphemeralEvent;
  outgoing: OutgoingChange;
  unread: { readonly conversation_id: string; readonly count: number };
  /** A gap is being fetched. */
  fetch: { readonly feeds: readonly string[] };
}

export type ResolvedOptions = Required<Omit<ClientOptions, "epoch" | "timings" | "token">> & {
  readonly timings: Timings;
  readonly token: string | null;
};

export function resolveOptions(options: ClientOptions): ResolvedOptions {
  const Socket = options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
  if (Socket === undefined) throw new TypeError("no global WebSocket: pass one in the `WebSocket` option");
  return {
    url: options.url.replace(/\/+$/, ""),
    token: options.token ?? null,
    deviceId: options.deviceId,
    storage: options.storage ?? new MemoryStorage(),
    WebSocket: Socket,
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    clock: options.clock ?? REAL_CLOCK,
    random: options.random ?? Math.random,
    newId: options.newId ?? newId,
    timings: { ...DEFAULTS, ...options.timings },
  };
}
