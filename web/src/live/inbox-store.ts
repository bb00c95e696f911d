/** The inbox store: server data as the UI shows it, kept current by the live client. */

import type { Content, Item, WaypostClient } from "@waypost/client";

import type { Conversation, Found, Me, Message } from "../model";
import { search } from "./requests";
import { conversationWith, UNREAD_THREAD, withItem, type Thread } from "./changes";
import { queriesOf, type Filter } from "./filters";
import { ConversationIndex, ConversationIndexDraft } from "./conversation-index";
import { itemsFor, removedBy, InflightMerge, rowAfter, threadAfter, wasMerged } from "./inflight-merge";
import { RenderThrottle } from "./render-throttle";
import { listedWith, NO_LISTS, initialState, outgoingAfter, without, type Listing, type InboxState } from "./inbox-state";
import { UnknownConversations } from "./unknown-conversations";
import { Typing } from "./typing";

const PAGE = 50;
const FAR_PAGE = 200;
const LOOK_AGAIN_MS = 50;

export class InboxStore {
  readonly client: WaypostClient;
  readonly me: Me;
  state: InboxState;
  readonly #listeners = new Set<() => void>();
  readonly #loading = new Set<string>();
  readonly #inflight = new InflightMerge();
  readonly #renderThrottle = new RenderThrottle();
  readonly #unknown = new UnknownConversations((id) => this.#load(id), () => this.#loadNewest());
  readonly #typingTimers = new Typing();
  #changes: Partial<InboxState> | null = null;
  #open: string | null = null;

  constructor(me: Me, client: WaypostClient) {
    this.me = me;
    this.client = client;
    this.state = initialState(client.outgoing);
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

  /** The visible thread; loaded if necessary. */
  open(conversation: string | null): void {
    this.#open = conversation;
    if (conversation === null) return;
    if (!this.#pending.conversations.has(conversation)) void this.#load(conversation);
    if (!this.#pending.threads.has(conversation)) void this.earlier(conversation);
  }

  /** Loads the next page of a list. */
  async list(filter: Filter): Promise<void> {
    const listing = this.#pending.lists[filter];
    if (listing.reading || !listing.more) return;
    this.#setList(filter, { ...listing, reading: true, failed: false });
    try {
      const queries = queriesOf(filter, this.me.user_id);
      const query = { ...queries[listing.part], ...(listing.cursor && { cursor: listing.cursor }) };
      await this.#inflight.run(this.client.conversations(query), (page, items) => {
        this.#merge(page.conversations as unknown as Conversation[], items);
        this.#setList(filter, listedWith(listing, page, queries.length));
      });
    } catch {
      this.#setList(filter, { ...listing, reading: false, failed: true });
    }
  }

  /** Loads the previous page of a thread. */
  async earlier(conversation: string, limit = PAGE): Promise<void> {
    const known = this.#pending.threads.get(conversation);
    if (known !== undefined && (known.cursor === null || known.reading) && !known.failed) return;
    this.#setThread(conversation, { ...(known ?? UNREAD_THREAD), reading: true, failed: false });
    try {
      await this.#inflight.run(this.client.history(conversation, { cursor: known?.cursor ?? null, limit }), (page, items) => {
        if (wasMerged(conversation, items)) return;
        const now = this.#pending.threads.get(conversation) ?? UNREAD_THREAD;
        const cursor = page.has_more ? page.next_cursor : null;
        const read = threadAfter(now, conversation, page.messages as unknown as Message[], items);
        this.#setThread(conversation, { ...read, cursor, reading: false, failed: false });
      });
    } catch {
      const now = this.#pending.threads.get(conversation) ?? UNREAD_THREAD;
      this.#setThread(conversation, { ...now, reading: false, failed: true });
    }
  }

  /** Loads pages back to a message; false if that fails or the user has left. */
  async reach(conversation: string, position: number, left: AbortSignal): Promise<boolean> {
    while (!left.aborted) {
      const thread = this.#pending.threads.get(conversation);
      const first = thread?.messages[0];
      if (first !== undefined && first.position <= position) return true;
      if (thread !== undefined && !thread.reading && (thread.failed || thread.cursor === null)) return false;
      if (thread?.reading === true) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      else await this.earlier(conversation, FAR_PAGE);
    }
    return false;
  }

  send(conversation: string, content: string | Content): void {
    this.client.send(conversation, content).catch(() => undefined); // refusals arrive as events
  }

  /** Messages that match, newest first. */
  async search(words: string): Promise<readonly Found[]> {
    const results = await search(this.client, words);
    for (const { conversation_id } of results) if (!this.#pending.conversations.has(conversation_id)) void this.#load(conversation_id);
    return results;
  }

  /** Loads the customer with this number, if there is one. */
  async seek(phone: string): Promise<void> {
    const asked = this.client.conversations({ kind: "customer", phone });
    await this.#inflight.run(asked, (page, items) => this.#merge(page.conversations as unknown as Conversation[], items));
  }

  /** The response to a change of a conversation's handling; its messages may already be newer in the store. */
  take(row: Conversation): void {
    const { floor, assignee, state, labels } = row;
    const known = this.#pending.conversations.get(row.conversation_id);
    this.#setRow(known === undefined ? row : { ...known, floor, assignee, state, labels });
  }

  discard(client_message_id: string): void {
    this.#update({ refused: this.#pending.refused.filter(({ message }) => message.client_message_id !== client_message_id) });
  }

  /** Marks the conversation as read up to its newest message. */
  read(conversation: string): void {
    const newest = this.#pending.threads.get(conversation)?.messages.at(-1);
    const row = this.#pending.conversations.get(conversation);
    if (newest === undefined || row === undefined || newest.position <= row.read_position) return;
    this.client.read(conversation, newest.message_id);
    this.#setRow({ ...row, unread: 0, read_position: newest.position });
  }

  #listen(): void {
    const { client } = this;
    client.on("state", ({ state, code }) => {
      const offline = state === "waiting" || state === "stopped" || (state === "connecting" && this.#pending.offline);
      this.#update({ connection: state, offline, stoppedBy: state === "stopped" ? (code ?? 0) : null });
    });
    client.on("reset", () => this.#reload());
    client.on("item", (item) => this.#apply(item));
    client.on("outgoing", (change) => change.change !== "trying" && this.#update(outgoingAfter(this.#pending, change, client.outgoing.length)));
    client.on("unread", ({ conversation_id, count }) => this.#setUnread(conversation_id, count));
    client.on("typing", (passing) => this.#typing(String(passing["conversation_id"]), String(passing["user_id"])));
  }

  /** The old state stays visible until the new one is loaded. */
  async #reload(): Promise<void> {
    const page = await this.client.conversations();
    const waiting = new Set(this.client.outgoing.map(({ client_message_id }) => client_message_id));
    this.#inflight.invalidate();
    this.#loading.clear();
    this.#update({
      conversations: new ConversationIndex(page.conversations as unknown as Conversation[]),
      lists: { ...NO_LISTS, open: listedWith(NO_LISTS.open, page, 1) },
      threads: new Map(),
      outgoing: this.#pending.outgoing.filter(({ client_message_id }) => waiting.has(client_message_id)),
    });
    if (this.#open !== null) this.open(this.#open);
  }

  #apply(item: Item): void {
    const id = item.conversation_id;
    if (id === undefined) return;
    const gone = removedBy(item);
    if (gone !== null) return this.#onJoined(item, id, gone);
    const row = this.#pending.conversations.get(id);
    if (row === undefined) this.#unknown.load(id);
    else this.#setRow(conversationWith(row, item));
    const thread = this.#pending.threads.get(id);
    if (thread !== undefined) this.#setThread(id, withItem(thread, item));
    this.#inflight.record(item);
    const mine = item.message?.client_message_id;
    if (mine != null) this.#update({ outgoing: without(this.#pending.outgoing, mine) });
  }

  /** Two conversations of one customer were merged. */
  #onJoined(item: Item, id: string, gone: string): void {
    this.#inflight.record(item);
    for (const each of [id, gone]) {
      this.#draftConversations().delete(each);
      this.#draftThreads().delete(each);
    }
    this.#update({ joined: new Map(this.#pending.joined).set(gone, id) });
    this.#loading.delete(id);
    void this.#load(id);
    if (this.#open === id) this.open(id);
  }

  #typing(conversation: string, user: string): void {
    if (user === this.me.user_id) return;
    this.#update({ typing: new Map(this.#pending.typing).set(conversation, user) });
    this.#typingTimers.seen(conversation, () => {
      const typing = new Map(this.#pending.typing);
      typing.delete(conversation);
      this.#update({ typing });
    });
  }

  /** Loads a conversation that is not in the store. */
  async #load(id: string): Promise<void> {
    if (this.#loading.has(id)) return;
    this.#loading.add(id);
    try {
      await this.#inflight.run(this.client.conversation(id), (row, items) => this.#merge([row as unknown as Conversation], items));
    } catch {
      // Not found or not readable now: the next item loads it again.
    } finally {
      this.#loading.delete(id);
    }
  }

  async #loadNewest(): Promise<void> {
    const take = (page: { readonly conversations: readonly unknown[] }, items: readonly Item[]): void =>
      this.#merge(page.conversations as readonly Conversation[], items);
    await this.#inflight.run(this.client.conversations(), take).catch(() => undefined);
  }

  /** Merges a response with the feed items that arrived since the request. */
  #merge(rows: readonly Conversation[], items: readonly Item[]): void {
    for (const row of rows) {
      const id = row.conversation_id;
      if (wasMerged(id, items)) continue; // loaded again since
      const known = this.#pending.conversations.get(id);
      const isReadSince = known !== undefined && known.read_position > row.read_position;
      this.#setRow({ ...rowAfter(row, items), ...(isReadSince && { unread: known.unread, read_position: known.read_position }) });
      if (!isReadSince && itemsFor(id, items).length > 0) void this.client.unread(id).then((count) => this.#setUnread(id, count), () => undefined);
    }
  }

  #setUnread(id: string, count: number): void {
    const row = this.#pending.conversations.get(id);
    if (row !== undefined && row.unread !== count) this.#setRow({ ...row, unread: count });
  }

  #setRow(row: Conversation): void {
    if (this.#pending.conversations.get(row.conversation_id) !== row) this.#draftConversations().set(row);
  }

  #setThread(id: string, thread: Thread): void {
    if (this.#pending.threads.get(id) !== thread) this.#draftThreads().set(id, thread);
  }

  #setList(filter: Filter, listing: Listing): void {
    this.#update({ lists: { ...this.#pending.lists, [filter]: listing } });
  }

  /** The conversations of the next frame, to be modified. */
  #draftConversations(): ConversationIndexDraft {
    const { conversations } = this.#pending;
    if (conversations instanceof ConversationIndexDraft) return conversations;
    const next = conversations.draft();
    this.#update({ conversations: next });
    return next;
  }

  /** The threads of the next frame; copied once per frame, for any number of items. */
  #draftThreads(): Map<string, Thread> {
    if (this.#changes?.threads === undefined) this.#update({ threads: new Map(this.state.threads) });
    return this.#pending.threads as Map<string, Thread>;
  }

  /** The state of the next frame. */
  get #pending(): InboxState {
    return this.#changes === null ? this.state : { ...this.state, ...this.#changes };
  }

  /** Published at most once per frame, for any number of changes. */
  #update(change: Partial<InboxState>): void {
    const isFirst = this.#changes === null;
    this.#changes = { ...this.#changes, ...change };
    if (isFirst) this.#renderThrottle.schedule(this.#publish);
  }

  readonly #publish = (): void => {
    const { conversations, ...now } = this.#pending;
    this.state = { ...now, conversations: conversations instanceof ConversationIndexDraft ? conversations.commit() : conversations };
    this.#changes = null;
    for (const listener of this.#listeners) listener();
  };
}
