/** The inbox store with a fake client: the test controls the order of responses and feed items. */

import type { Item, WaypostClient } from "@waypost/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { InboxStore } from "../src/live/inbox-store";
import type { Conversation, Me, Message } from "../src/model";
import { aConversation, aMessage } from "./examples";

type Listener = (event: never) => unknown;

/** Each request stays pending until the test responds. */
class FakeClient {
  readonly outgoing = [];
  readonly requests: { readonly what: string; readonly answer: (with_: unknown) => void; readonly fail: () => void }[] = [];
  readonly #listeners = new Map<string, Listener>();
  count = 0;

  on(name: string, listener: Listener): void {
    this.#listeners.set(name, listener);
  }

  emit(name: string, event: object): unknown {
    return this.#listeners.get(name)?.(event as never);
  }

  readonly conversations = ({ phone }: { phone?: string } = {}): Promise<unknown> => this.#ask(phone === undefined ? "list" : `list of ${phone}`);
  readonly conversation = (id: string): Promise<unknown> => this.#ask(`conversation ${id}`);
  readonly history = (id: string): Promise<unknown> => this.#ask(`history ${id}`);
  readonly unread = (): Promise<number> => Promise.resolve(this.count);
  readonly read = (): void => undefined;

  #ask(what: string): Promise<unknown> {
    return new Promise((answer, fail) => this.requests.push({ what, answer, fail: () => fail(new Error("away")) }));
  }
}

let client: FakeClient;
let store: InboxStore;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 16));
  client = new FakeClient();
  store = new InboxStore({ user_id: "me" } as Me, client as unknown as WaypostClient);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const frame = (): Promise<unknown> => vi.advanceTimersByTimeAsync(20);
const feed = (kind: string, more: object, conversation_id = "1"): void =>
  void client.emit("item", { feed: "team:x", seq: 1, prev: 0, kind, conversation_id, at: "2026-11-16T10:00:00Z", ...more } satisfies Item);
const pendingRequests = (): string[] => client.requests.map(({ what }) => what);

async function answers(what: string, with_: unknown): Promise<void> {
  const at = client.requests.findIndex((request) => request.what === what);
  expect(at, `${what} was requested, among ${pendingRequests().join(", ")}`).toBeGreaterThanOrEqual(0);
  client.requests.splice(at, 1)[0]?.answer(with_);
  await frame();
}

const list = (rows: readonly Conversation[], next_cursor: string | null = null) => ({ conversations: rows, next_cursor, has_more: next_cursor !== null });
const page = (messages: readonly Message[], next_cursor: string | null = null) => ({ messages, next_cursor, has_more: next_cursor !== null });
const [one, two, three] = [1, 2, 3].map((position) => aMessage({ position })) as [Message, Message, Message];
const row = (id = "1"): Conversation | undefined => store.state.conversations.get(id);
const positions = (): (number | undefined)[] => store.state.threads.get("1")?.messages.map(({ position }) => position) ?? [];

test("a customer searched by number is added to the store", async () => {
  const searching = store.seek("+15550001111");
  await answers("list of +15550001111", list([aConversation({})]));
  await searching;
  expect(row()?.contact?.phone).toBe("+15550001111");
});

describe("a new customer", () => {
  test("has the last message, even if it arrived while the conversation was loading", async () => {
    feed("message", { message: one });
    feed("message", { message: two });
    client.count = 2;
    await answers("conversation 1", aConversation({ last_message: one, unread: 1 }));
    expect([row()?.last_message?.position, row()?.unread, pendingRequests()]).toEqual([2, 2, []]);
  });

  test("has the response's message if that is newer", async () => {
    feed("message", { message: one });
    await answers("conversation 1", aConversation({ last_message: two }));
    expect(row()?.last_message?.position).toBe(2);
  });
});

describe("a page of the list", () => {
  test("does not revert items that arrived while it was loading", async () => {
    store.take(aConversation({ last_message: one }));
    void store.list("open");
    feed("message", { message: two });
    feed("floor", { floor: "me" });
    feed("assigned", { assignee: "me", state: "closed", labels: ["a"] });
    await answers("list", list([aConversation({ last_message: one })]));
    expect(row()).toMatchObject({ floor: "me", assignee: "me", state: "closed", labels: ["a"], last_message: { position: 2 } });
  });

  test("replaces older data and is updated by later items", async () => {
    store.take(aConversation({ last_message: one, floor: "human" }));
    feed("floor", { floor: "me" });
    void store.list("open");
    await answers("list", list([aConversation({ last_message: two, floor: "bot" })]));
    expect(row()).toMatchObject({ floor: "bot", last_message: { position: 2 } });
    feed("message", { message: three });
    await frame();
    expect(row()?.last_message?.position).toBe(3);
  });

  test("does not revert a read position", async () => {
    store.take(aConversation({ last_message: one, unread: 1 }));
    store.open("1");
    await answers("history 1", page([one]));
    void store.list("open");
    store.read("1");
    await answers("list", list([aConversation({ last_message: one, unread: 1 })]));
    expect(row()).toMatchObject({ unread: 0, read_position: 1 });
  });

  test("requested before a reload is ignored", async () => {
    void store.list("open");
    const [old] = client.requests.splice(0);
    void client.emit("reset", { reason: "fresh" });
    await answers("list", list([aConversation({ floor: "me" })], "next"));
    old?.answer(list([aConversation({ floor: "bot" }), aConversation({ conversation_id: "2" })]));
    await frame();
    expect([row()?.floor, row("2"), store.state.lists.open.cursor]).toEqual(["me", undefined, "next"]);
  });
});

describe("a page of a thread", () => {
  beforeEach(() => store.take(aConversation({})));

  test("includes deletions and status updates that arrived while it was loading", async () => {
    store.open("1");
    feed("deleted", { message_id: "m1" });
    feed("status", { message_id: "m2", status: "read" });
    await answers("history 1", page([two, one]));
    expect(store.state.threads.get("1")?.messages).toMatchObject([{ content: { type: "deleted" } }, { status: "read" }]);
  });

  test("contains each message once, whether it arrived with the page or before it", async () => {
    store.open("1");
    feed("message", { message: three });
    await answers("history 1", page([three, two, one]));
    expect(positions()).toEqual([1, 2, 3]);
  });

  test("is updated by later items", async () => {
    store.open("1");
    await answers("history 1", page([two, one]));
    feed("deleted", { message_id: "m1" });
    feed("message", { message: three });
    await frame();
    expect([positions(), store.state.threads.get("1")?.messages[0]?.content]).toEqual([[1, 2, 3], { type: "deleted" }]);
  });

  test("leaves no gap after a reload", async () => {
    store.open("1");
    await answers("history 1", page([three], "far"));
    void store.earlier("1");
    const [far] = client.requests.splice(0);
    void client.emit("reset", { reason: "fresh" });
    await answers("list", list([aConversation({})]));
    far?.answer(page([one]));
    await frame();
    expect(store.state.threads.get("1")).toMatchObject({ reading: true, messages: [] });
    await answers("history 1", page([three], "far"));
    expect(positions()).toEqual([3]);
  });
});

test("an open conversation that is merged redirects to the other, and old responses are ignored", async () => {
  store.take(aConversation({ conversation_id: "2" }));
  store.open("2");
  void store.list("open");
  feed("joined", { gone: "2" });
  await answers("history 2", page([one]));
  await answers("list", list([aConversation({ conversation_id: "2" }), aConversation({ floor: "old" })]));
  expect([store.state.joined.get("2"), row("2"), row(), store.state.threads.has("2")]).toEqual(["1", undefined, undefined, false]);
  await answers("conversation 1", aConversation({ last_message: two }));
  expect(row()?.last_message?.position).toBe(2);
});

test("an open conversation that another is merged into is reloaded", async () => {
  store.take(aConversation({}));
  store.open("1");
  feed("joined", { gone: "2" });
  await answers("history 1", page([one]));
  expect(positions()).toEqual([]);
  await answers("history 1", page([two, one]));
  expect(positions()).toEqual([1, 2]);
});

test("typing is shown for 4 s after the last event", async () => {
  const typing = (): unknown => store.state.typing.get("1");
  client.emit("typing", { conversation_id: "1", user_id: "contact:7" });
  await vi.advanceTimersByTimeAsync(3_000);
  client.emit("typing", { conversation_id: "1", user_id: "contact:7" });
  await vi.advanceTimersByTimeAsync(3_900);
  expect(typing()).toBe("contact:7");
  await vi.advanceTimersByTimeAsync(200);
  expect(typing()).toBeUndefined();
});

test("a distant message is loaded page by page until it is reached or the user leaves", async () => {
  store.take(aConversation({}));
  store.open("1");
  await answers("history 1", page([three], "far"));
  const leaving = new AbortController();
  const reached = store.reach("1", 1, leaving.signal);
  await answers("history 1", page([two], "farther"));
  leaving.abort();
  await answers("history 1", page([aMessage({ position: 2 })], "farthest"));
  expect([await reached, pendingRequests()]).toEqual([false, []]);
  const again = store.reach("1", 1, new AbortController().signal);
  await answers("history 1", page([one], "end"));
  expect(await again).toBe(true);
});
