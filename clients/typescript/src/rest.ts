/** The calls over plain HTTP: the way out where a socket is not possible, and the way to what is older. */

import type { Clock } from "./clock.js";
import { Unreachable, WaypostError } from "./errors.js";
import type { Conversation, ConversationPage, Cursors, MessagePage, Outgoing, Synced } from "./protocol.js";
import { outcomeOfAnswer, type Outcome } from "./sending.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RestOptions {
  readonly url: string;
  /** Null: the browser's cookie says who asks. */
  readonly token: string | null;
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** How long an answer may take, in milliseconds. */
  readonly patience: number;
  /** Told when the token is not, or no longer, good. */
  readonly notAllowedIn: () => void;
}

export interface SyncQuestion {
  readonly device_id: string;
  readonly epoch: string | null;
  readonly cursors: Cursors | null;
  readonly waitMs: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** One request: GET without anything else. */
export interface Asked {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Query;
  readonly body?: object;
  /** How much longer than usual the answer may take. */
  readonly extraMs?: number;
  readonly signal?: AbortSignal;
}

export class Rest {
  readonly #options: RestOptions;

  constructor(options: RestOptions) {
    this.#options = options;
  }

  async post(message: Outgoing): Promise<Outcome> {
    try {
      const { status, body, retryAfter } = await this.#exchange("/messages", { method: "POST", body: message });
      return outcomeOfAnswer(status, body, retryAfter);
    } catch (error) {
      if (error instanceof Unreachable) return { is: "later", ms: 0 };
      throw error;
    }
  }

  async sync({ device_id, epoch, cursors, waitMs }: SyncQuestion, signal?: AbortSignal): Promise<Synced> {
    const query = { device_id, epoch, cursors: cursors && JSON.stringify(cursors), wait: waitMs / 1_000 };
    const body = await this.ask("/sync", { query, extraMs: waitMs, ...(signal && { signal }) });
    const answer = body as Partial<Synced> | null;
    if (typeof answer?.epoch !== "string" || typeof answer.heads !== "object")
      throw new Unreachable("not Waypost's answer");
    return {
      epoch: answer.epoch,
      heads: answer.heads,
      items: answer.items ?? [],
      resync_required: answer.resync_required === true,
      has_more: answer.has_more === true,
    };
  }

  async conversations(query: Query): Promise<ConversationPage> {
    return (await this.ask("/conversations", { query })) as ConversationPage;
  }

  async conversation(id: string): Promise<Conversation> {
    return (await this.ask(`/conversations/${encodeURIComponent(id)}`)) as Conversation;
  }

  async history(id: string, query: Query): Promise<MessagePage> {
    return (await this.ask(`/conversations/${encodeURIComponent(id)}/messages`, { query })) as MessagePage;
  }

  async markRead(id: string, message_id: string): Promise<void> {
    await this.ask(`/conversations/${encodeURIComponent(id)}/read`, { method: "POST", body: { message_id } });
  }

  /** The body of a 2xx; anything else is thrown. */
  async ask(path: string, asked: Asked = {}): Promise<unknown> {
    const { status, body, retryAfter } = await this.#exchange(path, asked);
    if (status >= 200 && status < 300 && typeof body === "object") return body;
    const outcome = outcomeOfAnswer(status, body, retryAfter);
    if (outcome.is === "later") throw new Unreachable(`HTTP ${status}`, status, outcome.ms);
    if (outcome.is !== "refused") throw new WaypostError("unauthenticated", `HTTP ${status}`, status);
    throw new WaypostError(outcome.code, outcome.detail ?? `${outcome.code} (HTTP ${status})`, status);
  }

  async #exchange(path: string, asked: Asked): Promise<Answer> {
    const { patience, clock, notAllowedIn } = this.#options;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const cancel = clock.after(patience + (asked.extraMs ?? 0), end);
    asked.signal?.addEventListener("abort", end);
    try {
      const answer = await this.#fetch(path, asked, ending.signal);
      if (answer.status === 401) notAllowedIn();
      return answer;
    } catch (error) {
      throw new Unreachable(`no answer: ${String(error)}`);
    } finally {
      cancel();
      asked.signal?.removeEventListener("abort", end);
    }
  }

  async #fetch(path: string, { method = "GET", query = {}, body }: Asked, signal: AbortSignal): Promise<Answer> {
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

/** Null for an empty body; the text itself where it is no JSON: somebody else's page on the way. */
function asJson(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
