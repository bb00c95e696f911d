/** The client: what the application calls, wired to the parts that do it. */

import { Alarm } from "./clock.js";
import { Connection } from "./connection.js";
import { WaypostError } from "./errors.js";
import { Kept } from "./kept.js";
import { Lately } from "./lately.js";
import { Listeners, type Off } from "./listeners.js";
import { settled, type ClientEvents, type ClientOptions, type Settled } from "./options.js";
import type { ClientFrame, Content, Conversation, ConversationPage, Item, Message, MessagePage } from "./protocol.js";
import type { Outgoing, Sent, ServerFrame, Synced } from "./protocol.js";
import { Reads } from "./reads.js";
import { Rest, type Asked } from "./rest.js";
import { Sender } from "./sender.js";
import { outcomeOfFrame } from "./sending.js";
import type { State } from "./states.js";
import { Stream } from "./stream.js";
import { Unread } from "./unread.js";

/** How often a client says to the other tabs that it lives, and looks for what those that are gone left behind. */
const ALIVE_EVERY_MS = 5_000;

/** The server passes on no more than this. */
const TYPING_EVERY_MS = 2_000;

export interface Paging {
  readonly cursor?: string | null;
  readonly limit?: number;
}

export class WaypostClient {
  readonly #options: Settled;
  readonly #listeners = new Listeners<ClientEvents>();
  readonly #unread = new Unread();
  readonly #kept: Kept;
  readonly #rest: Rest;
  readonly #stream: Stream;
  readonly #connection: Connection;
  readonly #sender: Sender;
  readonly #reads: Reads;
  readonly #alive: Alarm;
  /** Where the server was told of it. */
  readonly #typed = new Lately(TYPING_EVERY_MS);
  /** The latest question for the count of a conversation: an answer to an earlier one says nothing. */
  readonly #counting = new Map<string, object>();

  constructor(options: ClientOptions) {
    this.#options = settled(options);
    const { url, token, fetch, clock, random, timings } = this.#options;
    this.#kept = new Kept(this.#options.storage, this.#options.deviceId);
    this.#rest = new Rest({
      url,
      token,
      fetch,
      clock,
      patience: timings.open_timeout,
      notAllowedIn: () => this.#stop(4_401),
    });
    this.#stream = this.#makeStream(options.epoch);
    this.#connection = this.#makeConnection();
    const parts = { clock, random, timings, ways: () => this.#connection.ways };
    const tell = this.#listeners.tell.bind(this.#listeners);
    this.#sender = new Sender({
      ...parts,
      kept: this.#kept,
      post: (message) => this.#rest.post(message),
      tell: (change) => tell("outgoing", change),
    });
    this.#reads = new Reads({ ...parts, post: (conversation, message) => this.#rest.markRead(conversation, message) });
    this.#alive = new Alarm(clock);
  }

  get state(): State {
    return this.#connection.state;
  }

  /** The messages that were not answered yet, oldest first. */
  get outgoing(): readonly Outgoing[] {
    return this.#sender.queue;
  }

  /** The id of the user whose token this is, once the server has told. */
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
    this.#sayAlive();
  }

  /** Final. What was taken and what was not sent stays kept for the next client of this device. */
  close(): void {
    this.#stop(0);
  }

  /**
   * Kept until the server has answered, however long that takes; rejects with the server's `code` if it says no.
   * A client that stops, or has stopped, rejects with `stopped`: the next client of this device sends it.
   */
  send(conversation_id: string, content: string | Content, client_message_id = this.#options.newId()): Promise<Sent> {
    return this.#sender.send({
      client_message_id,
      conversation_id,
      content: typeof content === "string" ? { type: "text", text: content } : content,
    });
  }

  read(conversation_id: string, message_id: string): void {
    if (this.state !== "stopped") this.#reads.read(conversation_id, message_id);
  }

  /** May be called with every key that is pressed. */
  typing(conversation_id: string): void {
    if (this.state !== "live" || !this.#typed.isDue(conversation_id, this.#options.clock.now())) return;
    this.#say({ type: "typing", conversation_id });
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

  /** One page, newest first; a cursor that the server no longer takes starts over at the newest. */
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
    const given = new Set<string>();
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: MessagePage = await this.history(conversation_id, {
        ...(cursor && { cursor }),
        ...(limit && { limit }),
      });
      const fresh = page.messages.filter(({ message_id }) => !given.has(message_id));
      for (const message of fresh) given.add(message.message_id);
      yield* fresh;
      cursor = page.has_more ? page.next_cursor : null;
    }
  }

  /** How many messages of others this user has not read there, on any device. */
  async unread(conversation_id: string): Promise<number> {
    if (this.#unread.of(conversation_id) === undefined) await this.conversation(conversation_id);
    return this.#unread.of(conversation_id) ?? 0;
  }

  /** Any other call of the server's API, as `/conversations/{id}/notes`: the body of its answer. */
  request(path: string, asked: Asked = {}): Promise<unknown> {
    return this.#rest.ask(path, asked);
  }

  #makeStream(epoch: string | undefined): Stream {
    const { clock, random, timings } = this.#options;
    return new Stream({
      ...{ kept: this.#kept, clock, random, timings, ...(epoch === undefined ? {} : { epoch }) },
      apply: (item) => this.#apply(item),
      reset: (reason) => this.#reset(reason),
      fetch: (feeds) => this.#fetch(feeds),
      ack: (feed, seq) => this.#say({ type: "ack", feed, seq }),
    });
  }

  #makeConnection(): Connection {
    const { url, WebSocket, clock, random, timings } = this.#options;
    const link = {
      url: `${url.replace(/^http/, "ws")}/api/v1/ws`,
      Socket: WebSocket,
      hello: () => this.#hello(),
      clock,
      timings,
    };
    const sync = (waitMs: number, signal: AbortSignal): Promise<Synced> => this.#sync(waitMs, true, signal);
    return new Connection(
      { link, sync, clock, random, timings },
      { state: (state, code) => this.#changed(state, code), frame: (frame) => this.#hear(frame) },
    );
  }

  #hello(): ClientFrame {
    const { deviceId, token } = this.#options;
    return { type: "hello", device_id: deviceId, ...(token === null ? {} : { token }), ...this.#stream.place };
  }

  #hear(frame: ServerFrame): void {
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
        // While it catches up, what is missing is on its way.
        return this.state === "live" ? this.#stream.heads(frame.heads) : undefined;
      case "resync_required":
        return this.#stream.resync(frame);
      case "ack":
        return this.#sender.answered(frame.client_message_id, outcomeOfFrame(frame));
      case "error":
        return frame.client_message_id === undefined
          ? undefined
          : this.#sender.answered(frame.client_message_id, outcomeOfFrame(frame));
      case "typing":
      case "presence":
        return void this.#listeners.tell(frame.type, frame);
    }
  }

  #apply(item: Item): void {
    const { message } = item;
    this.#unread.applied(item, this.user);
    this.#listeners.tell("item", item);
    if (item.kind === "message" && message != null && message.sender_id === this.user) this.#sender.shown(message);
    this.#count(item);
  }

  /** A message of somebody else adds one; after a reading of this user's, on whatever device, the server knows. */
  #count({ kind, conversation_id, user_id }: Item): void {
    if (conversation_id === undefined) return;
    if (kind === "message") this.#tellUnread(conversation_id);
    if (kind === "read" && (user_id === undefined || user_id === this.user)) void this.#countAgain(conversation_id);
  }

  async #countAgain(conversation_id: string): Promise<void> {
    const question = {};
    this.#counting.set(conversation_id, question);
    const conversation = await this.#rest.conversation(conversation_id).catch(() => null);
    if (this.#counting.get(conversation_id) !== question) return;
    this.#counting.delete(conversation_id);
    if (conversation === null) this.#unread.forget(conversation_id);
    else this.#unread.counted(conversation);
    this.#tellUnread(conversation_id);
  }

  #tellUnread(conversation_id: string): void {
    const count = this.#unread.of(conversation_id);
    if (count !== undefined) this.#listeners.tell("unread", { conversation_id, count });
  }

  async #reset(reason: string): Promise<void> {
    this.#unread.forgetAll();
    await Promise.all(this.#listeners.tell("reset", { reason }));
  }

  async #fetch(feeds: readonly string[]): Promise<void> {
    this.#listeners.tell("fetch", { feeds });
    await this.#sync(0, false);
  }

  async #sync(waitMs: number, alone: boolean, signal?: AbortSignal): Promise<Synced> {
    const place = this.#stream.place;
    const question = {
      device_id: this.#options.deviceId,
      epoch: place?.epoch ?? null,
      cursors: place?.cursors ?? null,
      waitMs,
    };
    const answer = await this.#rest.sync(question, signal);
    if (this.state !== "stopped" && signal?.aborted !== true)
      this.#stream.synced(answer, question.cursors ?? {}, alone);
    return answer;
  }

  #say(frame: ClientFrame): void {
    this.#connection.ways.link?.send(frame);
  }

  #changed(state: State, code: number): void {
    if (state === "stopped") this.#quiet();
    this.#listeners.tell("state", state === "stopped" ? { state, code } : { state });
    if (state === "stopped") return;
    this.#sender.wake();
    this.#reads.wake();
    if (state === "live" || state === "polling") this.#sayAlive();
  }

  #stop(code: number): void {
    this.#connection.stop(code);
  }

  #quiet(): void {
    this.#alive.clear();
    this.#stream.stop();
    this.#sender.stop();
    this.#reads.stop();
    if (this.user !== null) this.#kept.sayAlive(this.user, 0); // gone: the next tab need not wait
  }

  #sayAlive(): void {
    const { user } = this;
    const now = this.#options.clock.now();
    if (user !== null) {
      this.#kept.sayAlive(user, now);
      this.#sender.adopt(this.#kept.adopt(user, now));
    }
    this.#alive.set(ALIVE_EVERY_MS, () => this.#sayAlive());
  }
}
