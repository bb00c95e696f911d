/** The agent's desk: what the server told, as the screen shows it, kept current by the live client. */

import type { Content, Item, WaypostClient } from "@waypost/client";

import type { Conversation, Found, Me, Message } from "../model";
import { found } from "./asking";
import { conversationWith, UNREAD_THREAD, withItem, type Thread } from "./changes";
import { queriesOf, type Filter } from "./filters";
import { Known, Next } from "./known";
import { about, goneBy, Meanwhile, rowAfter, threadAfter, wasJoined } from "./meanwhile";
import { Pace } from "./pace";
import { listedWith, NO_LISTS, nothingYet, outgoingAfter, without, type Listing, type Shown } from "./shown";
import { Strangers } from "./strangers";
import { Typing } from "./typing";

const PAGE = 50;
const FAR_PAGE = 200;
const LOOK_AGAIN_MS = 50;

export class Desk {
  readonly client: WaypostClient;
  readonly me: Me;
  shown: Shown;
  readonly #listeners = new Set<() => void>();
  readonly #asking = new Set<string>();
  readonly #meanwhile = new Meanwhile();
  readonly #pace = new Pace();
  readonly #strangers = new Strangers((id) => this.#ask(id), () => this.#askForNewest());
  readonly #typers = new Typing();
  #changes: Partial<Shown> | null = null;
  #open: string | null = null;

  constructor(me: Me, client: WaypostClient) {
    this.me = me;
    this.client = client;
    this.shown = nothingYet(client.outgoing);
    this.#listen();
  }

  start(): void {
    this.client.connect();
    addEventListener("pagehide", this.close);
  }

  readonly close = (): void => {
    removeEventListener("pagehide", this.close);
    this.client.close();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The thread that is on the screen; read if it was not. */
  open(conversation: string | null): void {
    this.#open = conversation;
    if (conversation === null) return;
    if (!this.#now.conversations.has(conversation)) void this.#ask(conversation);
    if (!this.#now.threads.has(conversation)) void this.earlier(conversation);
  }

  /** The next page of a list. */
  async list(filter: Filter): Promise<void> {
    const listing = this.#now.lists[filter];
    if (listing.reading || !listing.more) return;
    this.#setList(filter, { ...listing, reading: true, failed: false });
    try {
      const queries = queriesOf(filter, this.me.user_id);
      const query = { ...queries[listing.part], ...(listing.cursor && { cursor: listing.cursor }) };
      await this.#meanwhile.during(this.client.conversations(query), (page, heard) => {
        this.#learn(page.conversations as unknown as Conversation[], heard);
        this.#setList(filter, listedWith(listing, page, queries.length));
      });
    } catch {
      this.#setList(filter, { ...listing, reading: false, failed: true });
    }
  }

  /** The page before what is there. */
  async earlier(conversation: string, limit = PAGE): Promise<void> {
    const known = this.#now.threads.get(conversation);
    if (known !== undefined && (known.cursor === null || known.reading) && !known.failed) return;
    this.#setThread(conversation, { ...(known ?? UNREAD_THREAD), reading: true, failed: false });
    try {
      await this.#meanwhile.during(this.client.history(conversation, { cursor: known?.cursor ?? null, limit }), (page, heard) => {
        if (wasJoined(conversation, heard)) return;
        const now = this.#now.threads.get(conversation) ?? UNREAD_THREAD;
        const cursor = page.has_more ? page.next_cursor : null;
        const read = threadAfter(now, conversation, page.messages as unknown as Message[], heard);
        this.#setThread(conversation, { ...read, cursor, reading: false, failed: false });
      });
    } catch {
      const now = this.#now.threads.get(conversation) ?? UNREAD_THREAD;
      this.#setThread(conversation, { ...now, reading: false, failed: true });
    }
  }

  /** Back to a message, page by page, as far as it takes; false when it could not be read, or nobody wants it any more. */
  async reach(conversation: string, position: number, left: AbortSignal): Promise<boolean> {
    while (!left.aborted) {
      const thread = this.#now.threads.get(conversation);
      const first = thread?.messages[0];
      if (first !== undefined && first.position <= position) return true;
      if (thread !== undefined && !thread.reading && (thread.failed || thread.cursor === null)) return false;
      if (thread?.reading === true) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      else await this.earlier(conversation, FAR_PAGE);
    }
    return false;
  }

  send(conversation: string, content: string | Content): void {
    this.client.send(conversation, content).catch(() => undefined); // what is refused comes as an event
  }

  /** What was said with these words, the newest first. */
  async search(words: string): Promise<readonly Found[]> {
    const results = await found(this.client, words);
    for (const { conversation_id } of results) if (!this.#now.conversations.has(conversation_id)) void this.#ask(conversation_id);
    return results;
  }

  /** The customer of this number, who then is known here; nobody, where it is no number after all. */
  async seek(phone: string): Promise<void> {
    const asked = this.client.conversations({ kind: "customer", phone });
    await this.#meanwhile.during(asked, (page, heard) => this.#learn(page.conversations as unknown as Conversation[], heard));
  }

  /** The server's answer to a change of who works on a conversation; what was said there may be known better by now. */
  take(row: Conversation): void {
    const { floor, assignee, state, labels } = row;
    const known = this.#now.conversations.get(row.conversation_id);
    this.#put(known === undefined ? row : { ...known, floor, assignee, state, labels });
  }

  discard(client_message_id: string): void {
    this.#change({ refused: this.#now.refused.filter(({ message }) => message.client_message_id !== client_message_id) });
  }

  /** Read up to the newest message. */
  read(conversation: string): void {
    const newest = this.#now.threads.get(conversation)?.messages.at(-1);
    const row = this.#now.conversations.get(conversation);
    if (newest === undefined || row === undefined || newest.position <= row.read_position) return;
    this.client.read(conversation, newest.message_id);
    this.#put({ ...row, unread: 0, read_position: newest.position });
  }

  #listen(): void {
    const { client } = this;
    client.on("state", ({ state, code }) => {
      const offline = state === "waiting" || state === "stopped" || (state === "connecting" && this.#now.offline);
      this.#change({ state, offline, stoppedBy: state === "stopped" ? (code ?? 0) : null });
    });
    client.on("reset", () => this.#readAgain());
    client.on("item", (item) => this.#apply(item));
    client.on("outgoing", (change) => change.change !== "trying" && this.#change(outgoingAfter(this.#now, change, client.outgoing.length)));
    client.on("unread", ({ conversation_id, count }) => this.#counted(conversation_id, count));
    client.on("typing", (passing) => this.#typing(String(passing["conversation_id"]), String(passing["user_id"])));
  }

  /** The old screen stays until the new one is there. */
  async #readAgain(): Promise<void> {
    const page = await this.client.conversations();
    const waiting = new Set(this.client.outgoing.map(({ client_message_id }) => client_message_id));
    this.#meanwhile.outdate();
    this.#asking.clear();
    this.#change({
      conversations: new Known(page.conversations as unknown as Conversation[]),
      lists: { ...NO_LISTS, open: listedWith(NO_LISTS.open, page, 1) },
      threads: new Map(),
      outgoing: this.#now.outgoing.filter(({ client_message_id }) => waiting.has(client_message_id)),
    });
    if (this.#open !== null) this.open(this.#open);
  }

  #apply(item: Item): void {
    const id = item.conversation_id;
    if (id === undefined) return;
    const gone = goneBy(item);
    if (gone !== null) return this.#joined(item, id, gone);
    const row = this.#now.conversations.get(id);
    if (row === undefined) this.#strangers.ask(id);
    else this.#put(conversationWith(row, item));
    const thread = this.#now.threads.get(id);
    if (thread !== undefined) this.#setThread(id, withItem(thread, item));
    this.#meanwhile.hear(item);
    const mine = item.message?.client_message_id;
    if (mine != null) this.#change({ outgoing: without(this.#now.outgoing, mine) });
  }

  /** Two conversations turned out to be one customer's. */
  #joined(item: Item, id: string, gone: string): void {
    this.#meanwhile.hear(item);
    for (const each of [id, gone]) {
      this.#known().delete(each);
      this.#threads().delete(each);
    }
    this.#change({ joined: new Map(this.#now.joined).set(gone, id) });
    this.#asking.delete(id);
    void this.#ask(id);
    if (this.#open === id) this.open(id);
  }

  #typing(conversation: string, user: string): void {
    if (user === this.me.user_id) return;
    this.#change({ typing: new Map(this.#now.typing).set(conversation, user) });
    this.#typers.told(conversation, () => {
      const typing = new Map(this.#now.typing);
      typing.delete(conversation);
      this.#change({ typing });
    });
  }

  /** A conversation that is not on the screen yet. */
  async #ask(id: string): Promise<void> {
    if (this.#asking.has(id)) return;
    this.#asking.add(id);
    try {
      await this.#meanwhile.during(this.client.conversation(id), (row, heard) => this.#learn([row as unknown as Conversation], heard));
    } catch {
      // Gone, or not to be read now: the next item asks again.
    } finally {
      this.#asking.delete(id);
    }
  }

  async #askForNewest(): Promise<void> {
    const take = (page: { readonly conversations: readonly unknown[] }, heard: readonly Item[]): void =>
      this.#learn(page.conversations as readonly Conversation[], heard);
    await this.#meanwhile.during(this.client.conversations(), take).catch(() => undefined);
  }

  /** What the server answered, and what the feed told since it was asked. */
  #learn(rows: readonly Conversation[], heard: readonly Item[]): void {
    for (const row of rows) {
      const id = row.conversation_id;
      if (wasJoined(id, heard)) continue; // asked for again since
      const known = this.#now.conversations.get(id);
      const isReadSince = known !== undefined && known.read_position > row.read_position;
      this.#put({ ...rowAfter(row, heard), ...(isReadSince && { unread: known.unread, read_position: known.read_position }) });
      if (!isReadSince && about(id, heard).length > 0) void this.client.unread(id).then((count) => this.#counted(id, count), () => undefined);
    }
  }

  #counted(id: string, count: number): void {
    const row = this.#now.conversations.get(id);
    if (row !== undefined && row.unread !== count) this.#put({ ...row, unread: count });
  }

  #put(row: Conversation): void {
    if (this.#now.conversations.get(row.conversation_id) !== row) this.#known().set(row);
  }

  #setThread(id: string, thread: Thread): void {
    if (this.#now.threads.get(id) !== thread) this.#threads().set(id, thread);
  }

  #setList(filter: Filter, listing: Listing): void {
    this.#change({ lists: { ...this.#now.lists, [filter]: listing } });
  }

  /** Of what the next frame shows, to be changed. */
  #known(): Next {
    const { conversations } = this.#now;
    if (conversations instanceof Next) return conversations;
    const next = conversations.next();
    this.#change({ conversations: next });
    return next;
  }

  /** The same; copied once a frame, however much comes in it. */
  #threads(): Map<string, Thread> {
    if (this.#changes?.threads === undefined) this.#change({ threads: new Map(this.shown.threads) });
    return this.#now.threads as Map<string, Thread>;
  }

  /** What will be shown with the next frame. */
  get #now(): Shown {
    return this.#changes === null ? this.shown : { ...this.shown, ...this.#changes };
  }

  /** Shown once a frame or less often, however much comes in between. */
  #change(change: Partial<Shown>): void {
    const isFirst = this.#changes === null;
    this.#changes = { ...this.#changes, ...change };
    if (isFirst) this.#pace.next(this.#show);
  }

  readonly #show = (): void => {
    const { conversations, ...now } = this.#now;
    this.shown = { ...now, conversations: conversations instanceof Next ? conversations.done() : conversations };
    this.#changes = null;
    for (const listener of this.#listeners) listener();
  };
}
