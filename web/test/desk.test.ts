/** The desk with a client of paper: answers come when the test says so, before or after what the feed tells. */

import type { Item, WaypostClient } from "@waypost/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { Desk } from "../src/live/desk";
import type { Conversation, Me, Message } from "../src/model";
import { aConversation, aMessage } from "./examples";

type Heard = (event: never) => unknown;

/** Each question waits until it is answered. */
class PaperClient {
  readonly outgoing = [];
  readonly questions: { readonly what: string; readonly answer: (with_: unknown) => void; readonly fail: () => void }[] = [];
  readonly #heard = new Map<string, Heard>();
  count = 0;

  on(name: string, heard: Heard): void {
    this.#heard.set(name, heard);
  }

  tell(name: string, event: object): unknown {
    return this.#heard.get(name)?.(event as never);
  }

  readonly conversations = ({ phone }: { phone?: string } = {}): Promise<unknown> => this.#ask(phone === undefined ? "list" : `list of ${phone}`);
  readonly conversation = (id: string): Promise<unknown> => this.#ask(`conversation ${id}`);
  readonly history = (id: string): Promise<unknown> => this.#ask(`history ${id}`);
  readonly unread = (): Promise<number> => Promise.resolve(this.count);
  readonly read = (): void => undefined;

  #ask(what: string): Promise<unknown> {
    return new Promise((answer, fail) => this.questions.push({ what, answer, fail: () => fail(new Error("away")) }));
  }
}

let client: PaperClient;
let desk: Desk;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 16));
  client = new PaperClient();
  desk = new Desk({ user_id: "me" } as Me, client as unknown as WaypostClient);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const frame = (): Promise<unknown> => vi.advanceTimersByTimeAsync(20);
const tell = (kind: string, more: object, conversation_id = "1"): void =>
  void client.tell("item", { feed: "team:x", seq: 1, prev: 0, kind, conversation_id, at: "2026-11-16T10:00:00Z", ...more } satisfies Item);
const asked = (): string[] => client.questions.map(({ what }) => what);

async function answers(what: string, with_: unknown): Promise<void> {
  const at = client.questions.findIndex((question) => question.what === what);
  expect(at, `${what} was asked, of ${asked().join(", ")}`).toBeGreaterThanOrEqual(0);
  client.questions.splice(at, 1)[0]?.answer(with_);
  await frame();
}

const list = (rows: readonly Conversation[], next_cursor: string | null = null) => ({ conversations: rows, next_cursor, has_more: next_cursor !== null });
const page = (messages: readonly Message[], next_cursor: string | null = null) => ({ messages, next_cursor, has_more: next_cursor !== null });
const [one, two, three] = [1, 2, 3].map((position) => aMessage({ position })) as [Message, Message, Message];
const row = (id = "1"): Conversation | undefined => desk.shown.conversations.get(id);
const positions = (): (number | undefined)[] => desk.shown.threads.get("1")?.messages.map(({ position }) => position) ?? [];

test("a customer who is sought by number is known from then on", async () => {
  const sought = desk.seek("+15550001111");
  await answers("list of +15550001111", list([aConversation({})]));
  await sought;
  expect(row()?.contact?.phone).toBe("+15550001111");
});

describe("a customer who is new", () => {
  test("is shown with the last word, though it came while the first was asked for", async () => {
    tell("message", { message: one });
    tell("message", { message: two });
    client.count = 2;
    await answers("conversation 1", aConversation({ last_message: one, unread: 1 }));
    expect([row()?.last_message?.position, row()?.unread, asked()]).toEqual([2, 2, []]);
  });

  test("is shown as the answer says when that is the newer one", async () => {
    tell("message", { message: one });
    await answers("conversation 1", aConversation({ last_message: two }));
    expect(row()?.last_message?.position).toBe(2);
  });
});

describe("a page of the list", () => {
  test("takes nothing back of what was told while it was on its way", async () => {
    desk.take(aConversation({ last_message: one }));
    void desk.list("open");
    tell("message", { message: two });
    tell("floor", { floor: "me" });
    tell("assigned", { assignee: "me", state: "closed", labels: ["a"] });
    await answers("list", list([aConversation({ last_message: one })]));
    expect(row()).toMatchObject({ floor: "me", assignee: "me", state: "closed", labels: ["a"], last_message: { position: 2 } });
  });

  test("is followed by what is told after it, and replaces what was known before", async () => {
    desk.take(aConversation({ last_message: one, floor: "human" }));
    tell("floor", { floor: "me" });
    void desk.list("open");
    await answers("list", list([aConversation({ last_message: two, floor: "bot" })]));
    expect(row()).toMatchObject({ floor: "bot", last_message: { position: 2 } });
    tell("message", { message: three });
    await frame();
    expect(row()?.last_message?.position).toBe(3);
  });

  test("does not make unread what was read meanwhile", async () => {
    desk.take(aConversation({ last_message: one, unread: 1 }));
    desk.open("1");
    await answers("history 1", page([one]));
    void desk.list("open");
    desk.read("1");
    await answers("list", list([aConversation({ last_message: one, unread: 1 })]));
    expect(row()).toMatchObject({ unread: 0, read_position: 1 });
  });

  test("of before everything was read again counts for nothing", async () => {
    void desk.list("open");
    const [old] = client.questions.splice(0);
    void client.tell("reset", { reason: "fresh" });
    await answers("list", list([aConversation({ floor: "me" })], "next"));
    old?.answer(list([aConversation({ floor: "bot" }), aConversation({ conversation_id: "2" })]));
    await frame();
    expect([row()?.floor, row("2"), desk.shown.lists.open.cursor]).toEqual(["me", undefined, "next"]);
  });
});

describe("a page of a thread", () => {
  beforeEach(() => desk.take(aConversation({})));

  test("shows as taken back what was taken back while it was on its way, and the status that was told", async () => {
    desk.open("1");
    tell("deleted", { message_id: "m1" });
    tell("status", { message_id: "m2", status: "read" });
    await answers("history 1", page([two, one]));
    expect(desk.shown.threads.get("1")?.messages).toMatchObject([{ content: { type: "deleted" } }, { status: "read" }]);
  });

  test("has each message once, whether it came with the page or before it", async () => {
    desk.open("1");
    tell("message", { message: three });
    await answers("history 1", page([three, two, one]));
    expect(positions()).toEqual([1, 2, 3]);
  });

  test("lets what is told after it count", async () => {
    desk.open("1");
    await answers("history 1", page([two, one]));
    tell("deleted", { message_id: "m1" });
    tell("message", { message: three });
    await frame();
    expect([positions(), desk.shown.threads.get("1")?.messages[0]?.content]).toEqual([[1, 2, 3], { type: "deleted" }]);
  });

  test("leaves no gap when everything was read again meanwhile", async () => {
    desk.open("1");
    await answers("history 1", page([three], "far"));
    void desk.earlier("1");
    const [far] = client.questions.splice(0);
    void client.tell("reset", { reason: "fresh" });
    await answers("list", list([aConversation({})]));
    far?.answer(page([one]));
    await frame();
    expect(desk.shown.threads.get("1")).toMatchObject({ reading: true, messages: [] });
    await answers("history 1", page([three], "far"));
    expect(positions()).toEqual([3]);
  });
});

test("whoever has a conversation open that is joined with another is led there, and old answers count for nothing", async () => {
  desk.take(aConversation({ conversation_id: "2" }));
  desk.open("2");
  void desk.list("open");
  tell("joined", { gone: "2" });
  await answers("history 2", page([one]));
  await answers("list", list([aConversation({ conversation_id: "2" }), aConversation({ floor: "old" })]));
  expect([desk.shown.joined.get("2"), row("2"), row(), desk.shown.threads.has("2")]).toEqual(["1", undefined, undefined, false]);
  await answers("conversation 1", aConversation({ last_message: two }));
  expect(row()?.last_message?.position).toBe(2);
});

test("whoever has open what another was joined to sees it anew", async () => {
  desk.take(aConversation({}));
  desk.open("1");
  tell("joined", { gone: "2" });
  await answers("history 1", page([one]));
  expect(positions()).toEqual([]);
  await answers("history 1", page([two, one]));
  expect(positions()).toEqual([1, 2]);
});

test("that somebody writes is shown for 4 s after the last sign", async () => {
  const typing = (): unknown => desk.shown.typing.get("1");
  client.tell("typing", { conversation_id: "1", user_id: "contact:7" });
  await vi.advanceTimersByTimeAsync(3_000);
  client.tell("typing", { conversation_id: "1", user_id: "contact:7" });
  await vi.advanceTimersByTimeAsync(3_900);
  expect(typing()).toBe("contact:7");
  await vi.advanceTimersByTimeAsync(200);
  expect(typing()).toBeUndefined();
});

test("what is sought far back is read until it is there, or until one has left", async () => {
  desk.take(aConversation({}));
  desk.open("1");
  await answers("history 1", page([three], "far"));
  const leaving = new AbortController();
  const reached = desk.reach("1", 1, leaving.signal);
  await answers("history 1", page([two], "farther"));
  leaving.abort();
  await answers("history 1", page([aMessage({ position: 2 })], "farthest"));
  expect([await reached, asked()]).toEqual([false, []]);
  const again = desk.reach("1", 1, new AbortController().signal);
  await answers("history 1", page([one], "end"));
  expect(await again).toBe(true);
});
