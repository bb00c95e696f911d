/** The client: the public API of the application, wired to the modules that implement it. */

import { Alarm } from "./clock.js";
import { ConnectionLoop } from "./follow.js";
import { WaypostError } from "./errors.js";
import { Store } from "./store.js";
import { Throttle } from "./throttle.js";
import { Listeners, type Off } from "./listeners.js";
import { resolveOptions, type ClientEvents, type ClientOptions, type ResolvedOptions } from "./options.js";
import type { ClientFrame, Content, Conversation, ConversationPage, Item, Message, MessagePage } from "./types.js";
import type { Outgoing, Sent, ServerFrame, SyncResponse } from "./types.js";
import { ReadReceipts } from "./read_receipts.js";
import { Rest, type RequestOptions } from "./rest.js";
import { MessageSender } from "./post.js";
import { resultFromFrame } from "./sending.js";
import type { State } from "./connection_state.js";
import { Stream } from "./stream.js";
import { Unread } from "./unread.js";

/** How often a client marks itself alive for other tabs and checks for queues of closed ones. */
const ALIVE_EVERY_MS = 5_000;

/** The server forwards no more than this. */
const TYPING_EVERY_MS = 2_000;

export interface Paging {
  readonly cursor?: string | null;
  readonly limit?: number;
}

export class WaypostClient {
  readonly #options: ResolvedOptions;
  readonly #listeners = new Listeners<ClientEvents>();
  readonly #unread = new Unread();
  readonly #store: Store;
  readonly #rest: Rest;
  readonly #stream: Stream;
  readonly #connection: ConnectionLoop;
  readonly #sender: MessageSender;
  readonly #readReceipts: ReadReceipts;
  readonly #aliveAlarm: Alarm;
  /** By conversation. */
  readonly #typingThrottle = new Throttle(TYPING_EVERY_MS);
  /** The latest unread request of each conversation; responses to earlier requests are ignored. */
  readonly #unreadRequests = new Map<string, object>();

  constructor(options: ClientOptions) {
    this.#options = resolveOptions(options);
    const { url, token, fetch, clock, random, timings } = this.#options;
    this.#store = new Store(this.#options.storage, this.#options.deviceId);
    this.#rest = new Rest({
      url,
      token,
      fetch,
      clock,
      timeoutMs: timings.open_timeout,
      onUnauthorized: () => this.#stop(4_401),
    });
    this.#stream = this.#makeStream(options.epoch);
    this.#connection = this.#makeConnection();
    const parts = { clock, random, timings, transports: () => this.#connection.transports };
    const emit = this.#listeners.emit.bind(this.#listeners);
    this.#sender = new MessageSender({
      ...parts,
      store: this.#store,
      post: (message) => this.#rest.post(message),
      emit: (change) => emit("outgoing", change),
    });
    this.#readReceipts = new ReadReceipts({
      ...parts,
      post: (conversation, message) => this.#rest.markRead(conversation, message),
    });
    this.#aliveAlarm = new Alarm(clock);
  }

  get state(): State {
    return this.#connection.state;
  }

  /** Messages without a response yet, oldest first. */
  get outgoing(): readonly Outgoing[] {
    return this.#sender.queue;
  }

  /** The id of the token's user; null until the server has sent it. */
  get user(): string | null {
    return this.#stream.user;
  }

  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => unknown): Off {
    return this.#listeners.on(name, listener);
  }

  connect(): void {
    if (this.state !== "waiting") return;
    this.#sender.start();
    this.#connection.start();
    this.#markAlive();
  }

  /** Final. Cursors and unsent messages stay stored for the next client of this device. */
  close(): void {
    this.#stop(0);
  }

  /**
   * The message is stored until the server responds, however long that takes; a refusal rejects with its `code`.
   * A client that stops, or has stopped, rejects with `stopped`; the next client of this device sends the message.
   */
  send(conversation_id: string, content: string | Content, client_message_id = this.#options.newId()): Promise<Sent> {
    return this.#sender.send({
      client_message_id,
      conversation_id,
      content: typeof content === "string" ? { type: "text", text: content } : content,
    });
  }

  read(conversation_id: string, message_id: string): void {
    if (this.state !== "stopped") this.#readReceipts.read(conversation_id, message_id);
  }

  /** Can be called on every key press. */
  typing(conversation_id: string): void {
    if (this.state !== "live" || !this.#typingThrottle.isDue(conversation_id, this.#options.clock.now())) return;
    this.#sendFrame({ type: "typing", conversation_id });
  }

  async conversations(
    query: { kind?: string; phone?: string; cursor?: string | null } = {},
  ): Promise<ConversationPage> {
    const page = await this.#rest.conversations(query);
    for (const conversation of page.conversations) this.#unread.counted(conversation);
    return page;
  }

  async conversation(conversation_id: string): Promise<Conversation> {
    const conversation = await this.#rest.conversation(conversation_id);
    this.#unread.counted(conversation);
    return conversation;
  }

  async *allConversations(query: { kind?: string; phone?: string } = {}): AsyncGenerator<Conversation> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: ConversationPage = await this.conversations({ ...query, ...(cursor && { cursor }) });
      yield* page.conversations;
      cursor = page.has_more ? page.next_cursor : null;
    }
  }

  /** One page, newest first; if the server rejects the cursor, starts over at the newest message. */
  async history(conversation_id: string, { cursor, limit }: Paging = {}): Promise<MessagePage> {
    try {
      return await this.#rest.history(conversation_id, { cursor, limit });
    } catch (error) {
      const isOld = error instanceof WaypostError && ["invalid_cursor", "cursor_expired"].includes(error.code);
      if (!isOld || !cursor) throw error;
      return await this.#rest.history(conversation_id, { limit });
    }
  }

  /** All pages, each message once, newest first. */
  async *allHistory(conversation_id: string, limit?: number): AsyncGenerator<Message> {
    const seen = new Set<string>();
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: MessagePage = await this.history(conversation_id, {
        ...(cursor && { cursor }),
        ...(limit && { limit }),
      });
      const fresh = page.messages.filter(({ message_id }) => !seen.has(message_id));
      for (const message of fresh) seen.add(message.message_id);
      yield* fresh;
      cursor = page.has_more ? page.next_cursor : null;
    }
  }

  /** The number of other people's messages that this user has not read on any device. */
  async unread(conversation_id: string): Promise<number> {
    if (this.#unread.of(conversation_id) === undefined) await this.conversation(conversation_id);
    return this.#unread.of(conversation_id) ?? 0;
  }

  /** Any other API call, such as `/conversations/{id}/notes`; returns the response body. */
  request(path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.#rest.request(path, options);
  }

  #makeStream(epoch: string | undefined): Stream {
    const { clock, random, timings } = this.#options;
    return new Stream({
      ...{ store: this.#store, clock, random, timings, ...(epoch === undefined ? {} : { epoch }) },
      apply: (item) => this.#apply(item),
      reset: (reason) => this.#reset(reason),
      fetch: (feeds) => this.#fetch(feeds),
      ack: (feed, seq) => this.#sendFrame({ type: "ack", feed, seq }),
    });
  }

  #makeConnection(): ConnectionLoop {
    const { url, WebSocket, clock, random, timings } = this.#options;
    const socket = {
      url: `${url.replace(/^http/, "ws")}/api/v1/ws`,
      Socket: WebSocket,
      hello: () => this.#hello(),
      clock,
      timings,
    };
    const sync = (waitMs: number, signal: AbortSignal): Promise<SyncResponse> => this.#sync(waitMs, true, signal);
    return new ConnectionLoop(
      { socket, sync, clock, random, timings },
      { state: (state, code) => this.#onState(state, code), frame: (frame) => this.#onFrame(frame) },
    );
  }

  #hello(): ClientFrame {
    const { deviceId, token } = this.#options;
    return { type: "hello", device_id: deviceId, ...(token === null ? {} : { token }), ...this.#stream.feedPosition };
  }

  #onFrame(frame: ServerFrame): void {
    switch (frame.type) {
      case "welcome":
        return this.#stream.welcome(frame);
      case "live":
        return this.#stream.live(frame.heads ?? {});
      case "item": {
        const { type: _, ...item } = frame;
        return this.#stream.item(item as Item);
      }
      case "pong":
        // While catching up, missing items are already on the way.
        return this.state === "live" ? this.#stream.heads(frame.heads) : undefined;
      case "resync_required":
        return this.#stream.resync(frame);
      case "ack":
        return this.#sender.applyResult(frame.client_message_id, resultFromFrame(frame));
      case "error":
        return frame.client_message_id === undefined
          ? undefined
          : this.#sender.applyResult(frame.client_message_id, resultFromFrame(frame));
      case "typing":
      case "presence":
        return void this.#listeners.emit(frame.type, frame);
    }
  }

  #apply(item: Item): void {
    const { message } = item;
    this.#unread.applied(item, this.user);
    this.#listeners.emit("item", item);
    const isOwn = item.kind === "message" && message != null && message.sender_id === this.user;
    if (isOwn) this.#sender.confirmByItem(message);
    this.#updateUnread(item);
  }

  /** A message from someone else adds one; a `read` of this user on any device requests the server's count. */
  #updateUnread({ kind, conversation_id, user_id }: Item): void {
    if (conversation_id === undefined) return;
    if (kind === "message") this.#emitUnread(conversation_id);
    if (kind === "read" && (user_id === undefined || user_id === this.user)) void this.#refreshUnread(conversation_id);
  }

  async #refreshUnread(conversation_id: string): Promise<void> {
    const request = {};
    this.#unreadRequests.set(conversation_id, request);
    const conversation = await this.#rest.conversation(conversation_id).catch(() => null);
    if (this.#unreadRequests.get(conversation_id) !== request) return;
    this.#unreadRequests.delete(conversation_id);
    if (conversation === null) this.#unread.forget(conversation_id);
    else this.#unread.counted(conversation);
    this.#emitUnread(conversation_id);
  }

  #emitUnread(conversation_id: string): void {
    const count = this.#unread.of(conversation_id);
    if (count !== undefined) this.#listeners.emit("unread", { conversation_id, count });
  }

  async #reset(reason: string): Promise<void> {
    this.#unread.forgetAll();
    await Promise.all(this.#listeners.emit("reset", { reason }));
  }

  async #fetch(feeds: readonly string[]): Promise<void> {
    this.#listeners.emit("fetch", { feeds });
    await this.#sync(0, false);
  }

  async #sync(waitMs: number, isPolling: boolean, signal?: AbortSignal): Promise<SyncResponse> {
    const position = this.#stream.feedPosition;
    const request = {
      device_id: this.#options.deviceId,
      epoch: position?.epoch ?? null,
      cursors: position?.cursors ?? null,
      waitMs,
    };
    const response = await this.#rest.sync(request, signal);
    if (this.state !== "stopped" && signal?.aborted !== true)
      this.#stream.synced(response, request.cursors ?? {}, isPolling);
    return response;
  }

  #sendFrame(frame: ClientFrame): void {
    this.#connection.transports.socket?.send(frame);
  }

  #onState(state: State, code: number): void {
    if (state === "stopped") this.#shutDown();
    this.#listeners.emit("state", state === "stopped" ? { state, code } : { state });
    if (state === "stopped") return;
    this.#sender.wake();
    this.#readReceipts.wake();
    if (state === "live" || state === "polling") this.#markAlive();
  }

  #stop(code: number): void {
    this.#connection.stop(code);
  }

  #shutDown(): void {
    this.#aliveAlarm.clear();
    this.#stream.stop();
    this.#sender.stop();
    this.#readReceipts.stop();
    if (this.user !== null) this.#store.markAlive(this.user, 0); // closed: the next tab need not wait
  }

  #markAlive(): void {
    const { user } = this;
    const now = this.#options.clock.now();
    if (user !== null) {
      this.#store.markAlive(user, now);
      this.#sender.adopt(this.#store.adopt(user, now));
    }
    this.#aliveAlarm.set(ALIVE_EVERY_MS, () => this.#markAlive());
  }
}
