/** HTTP calls: the fallback where no socket is available, and the way to read history. */

import type { Clock } from "./clock.js";
import { Unreachable, WaypostError } from "./errors.js";
import type { Conversation, ConversationPage, Cursors, MessagePage, Outgoing, SyncResponse } from "./types.js";
import { resultFromResponse, type SendResult } from "./sending.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RestOptions {
  readonly url: string;
  /** Null: authenticated by the browser's cookie. */
  readonly token: string | null;
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** The time limit for a response. */
  readonly timeoutMs: number;
  /** Called when the token is invalid or has expired. */
  readonly onUnauthorized: () => void;
}

export interface SyncRequest {
  readonly device_id: string;
  readonly epoch: string | null;
  readonly cursors: Cursors | null;
  readonly waitMs: number;
}

interface RestResponse {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** One request; GET by default. */
export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Query;
  readonly body?: object;
  /** Added to the time limit of this request. */
  readonly extraMs?: number;
  readonly signal?: AbortSignal;
}

export class Rest {
  readonly #options: RestOptions;

  constructor(options: RestOptions) {
    this.#options = options;
  }

  async post(message: Outgoing): Promise<SendResult> {
    try {
      const { status, body, retryAfter } = await this.#exchange("/messages", { method: "POST", body: message });
      return resultFromResponse(status, body, retryAfter);
    } catch (error) {
      if (error instanceof Unreachable) return { is: "later", ms: 0 };
      throw error;
    }
  }

  async sync({ device_id, epoch, cursors, waitMs }: SyncRequest, signal?: AbortSignal): Promise<SyncResponse> {
    const query = { device_id, epoch, cursors: cursors && JSON.stringify(cursors), wait: waitMs / 1_000 };
    const body = await this.request("/sync", { query, extraMs: waitMs, ...(signal && { signal }) });
    const response = body as Partial<SyncResponse> | null;
    if (typeof response?.epoch !== "string" || typeof response.heads !== "object")
      throw new Unreachable("the response is not from Waypost");
    return {
      epoch: response.epoch,
      heads: response.heads,
      items: response.items ?? [],
      resync_required: response.resync_required === true,
      has_more: response.has_more === true,
    };
  }

  async conversations(query: Query): Promise<ConversationPage> {
    return (await this.request("/conversations", { query })) as ConversationPage;
  }

  async conversation(id: string): Promise<Conversation> {
    return (await this.request(`/conversations/${encodeURIComponent(id)}`)) as Conversation;
  }

  async history(id: string, query: Query): Promise<MessagePage> {
    return (await this.request(`/conversations/${encodeURIComponent(id)}/messages`, { query })) as MessagePage;
  }

  async markRead(id: string, message_id: string): Promise<void> {
    await this.request(`/conversations/${encodeURIComponent(id)}/read`, { method: "POST", body: { message_id } });
  }

  /** The body of a 2xx response; throws otherwise. */
  async request(path: string, options: RequestOptions = {}): Promise<unknown> {
    const { status, body, retryAfter } = await this.#exchange(path, options);
    if (status >= 200 && status < 300 && typeof body === "object") return body;
    const result = resultFromResponse(status, body, retryAfter);
    if (result.is === "later") throw new Unreachable(`HTTP ${status}`, status, result.ms);
    if (result.is !== "refused") throw new WaypostError("unauthenticated", `HTTP ${status}`, status);
    throw new WaypostError(result.code, result.detail ?? `${result.code} (HTTP ${status})`, status);
  }

  async #exchange(path: string, options: RequestOptions): Promise<RestResponse> {
    const { timeoutMs, clock, onUnauthorized } = this.#options;
    const aborting = new AbortController();
    const abort = (): void => aborting.abort();
    const cancel = clock.after(timeoutMs + (options.extraMs ?? 0), abort);
    options.signal?.addEventListener("abort", abort);
    try {
      const response = await this.#fetch(path, options, aborting.signal);
      if (response.status === 401) onUnauthorized();
      return response;
    } catch (error) {
      throw new Unreachable(`no response: ${String(error)}`);
    } finally {
      cancel();
      options.signal?.removeEventListener("abort", abort);
    }
  }

  async #fetch(
    path: string,
    { method = "GET", query = {}, body }: RequestOptions,
    signal: AbortSignal,
  ): Promise<RestResponse> {
    const { url, token, fetch } = this.#options;
    const headers: Record<string, string> = { accept: "application/json" };
    if (token !== null) headers["authorization"] = `Bearer ${token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(`${url}/api/v1${path}${asQuery(query)}`, {
      method,
      headers,
      signal,
      redirect: "manual",
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: asJson(await response.text()),
      retryAfter: response.headers.get("retry-after"),
    };
  }
}

function asQuery(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}

/** Null for an empty body; the text itself if it is not JSON, such as a proxy's error page. */
function asJson(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
