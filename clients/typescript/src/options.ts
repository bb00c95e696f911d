/** What the application says when it makes a client, and what it is told by it. */

import { REAL_CLOCK, type Clock } from "./clock.js";
import { newId } from "./ids.js";
import type { SocketConstructor } from "./link.js";
import type { Item, Passing } from "./protocol.js";
import type { Fetch } from "./rest.js";
import type { OutgoingChange } from "./sender.js";
import type { State } from "./states.js";
import { MemoryStorage, type KeyValue } from "./storage.js";
import { DEFAULTS, type Timings } from "./timings.js";

export interface ClientOptions {
  /** The server, without a path: `https://chat.example.com`. */
  readonly url: string;
  /** A user's. Without one, the cookie of a browser that signed in at `POST /api/v1/session`: only for pages of the server. */
  readonly token?: string;
  /** Each tab and each process has one of its own; a tab keeps it in `sessionStorage`. */
  readonly deviceId: string;
  /** `localStorage`, a `FileStorage`; without one, nothing outlives the client. */
  readonly storage?: KeyValue;
  /** Where there is no global one, as in Node 20. */
  readonly WebSocket?: SocketConstructor;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  /** From 0 to 1, as `Math.random`. */
  readonly random?: () => number;
  readonly newId?: () => string;
  readonly timings?: Partial<Timings>;
  /** Taken instead of the kept one. */
  readonly epoch?: string;
}

export interface ClientEvents {
  /** `code`: why it stopped, 0 when it was asked to; only with `stopped`. */
  state: { readonly state: State; readonly code?: number };
  /** Drop the screen and read conversations and histories. Items wait for the promise that a listener returns. */
  reset: { readonly reason: string };
  /** The next change of the screen. When the listeners have returned, it counts as taken. */
  item: Item;
  typing: Passing;
  presence: Passing;
  outgoing: OutgoingChange;
  unread: { readonly conversation_id: string; readonly count: number };
  /** A gap is being fetched. */
  fetch: { readonly feeds: readonly string[] };
}

export type Settled = Required<Omit<ClientOptions, "epoch" | "timings" | "token">> & {
  readonly timings: Timings;
  readonly token: string | null;
};

export function settled(options: ClientOptions): Settled {
  const Socket = options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
  if (Socket === undefined) throw new TypeError("there is no global WebSocket here: pass one as `WebSocket`");
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
