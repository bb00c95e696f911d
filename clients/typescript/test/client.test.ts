/** The client over real sockets, against a misbehaving server. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { WebSocket } from "ws";

import {
  MemoryStorage,
  WaypostClient,
  type ClientEvents,
  type ClientOptions,
  type Fetch,
  type SocketConstructor,
} from "../src/index.js";
import { FEED, ROOM, TestServer, TOKEN } from "./server.js";

const FAST = {
  ...{ hold: 50, ack_timeout: 150, ack_every: 5, backoff_base: 10, backoff_cap: 50, going_away: 20 },
  ...{ open_timeout: 5_000, upgrade_base: 50, upgrade_cap: 100, poll_wait: 500 },
};

/** For tests that count attempts: a slow machine must not add one. */
const PATIENT = { timings: { ...FAST, ack_timeout: 60_000 } };

/** `token: null` means no token. */
type Options = Partial<Omit<ClientOptions, "token">> & { readonly token?: string | null };

/** The application: records everything it is shown. */
class App {
  readonly client: WaypostClient;
  readonly shown: unknown[] = [];
  readonly resets: string[] = [];
  readonly states: string[] = [];
  readonly tries: string[] = [];

  constructor(server: TestServer, { token = TOKEN, ...options }: Options = {}) {
    const Socket = WebSocket as unknown as SocketConstructor;
    this.client = new WaypostClient({
      url: server.url,
      ...(token === null ? {} : { token }),
      deviceId: "d1",
      WebSocket: Socket,
      timings: FAST,
      ...options,
    });
    this.client.on("item", ({ kind, message }) =>
      this.shown.push(kind === "message" ? message?.content?.["text"] : kind),
    );
    this.client.on("reset", ({ reason }) => this.resets.push(reason) && undefined);
    this.client.on("state", ({ state, code }) => this.states.push(code === undefined ? state : `${state} ${code}`));
    this.client.on("outgoing", (change) => change.change === "trying" && this.tries.push(change.path));
    apps.push(this);
  }

  /** Waits for an event after which the condition is true. */
  until(name: keyof ClientEvents, isTrue: () => boolean): Promise<void> {
    if (isTrue()) return Promise.resolve();
    return new Promise((resolve) => {
      const off = this.client.on(name, () => {
        if (!isTrue()) return;
        off();
        resolve();
      });
    });
  }

  async live(): Promise<this> {
    this.client.connect();
    await this.until("state", () => this.client.state === "live");
    return this;
  }

  async shows(...texts: unknown[]): Promise<void> {
    await this.until("item", () => this.shown.length >= texts.length);
    assert.deepEqual(this.shown, texts);
  }
}

let server: TestServer;
const apps: App[] = [];

beforeEach(async () => {
  server = await new TestServer().start();
});

afterEach(async () => {
  for (const { client } of apps.splice(0)) client.close();
  await server.stop();
});

test("the token is in the first frame and in no URL", async () => {
  await new App(server).live();
  assert.deepEqual(server.frames[0], { type: "hello", device_id: "d1", token: TOKEN });
  assert.deepEqual(server.requests, ["UPGRADE /api/v1/ws"]);
});

test("without a token neither frames nor headers carry one: the cookie authenticates", async () => {
  const headers: unknown[] = [];
  const fetch: Fetch = (url, init) => {
    headers.push(init.headers);
    return globalThis.fetch(url, init);
  };
  server.signedIn = true;
  const app = await new App(server, { fetch, token: null }).live();
  await app.client.conversations();
  assert.deepEqual(server.frames[0], { type: "hello", device_id: "d1" });
  assert.deepEqual(headers, [{ accept: "application/json" }]);
});

test("a fresh device gets a reset; the next start resumes", async () => {
  const storage = new MemoryStorage();
  const app = await new App(server, { storage }).live();
  server.otherPosts("one");
  await app.shows("one");
  app.client.close();
  server.otherPosts("two");
  const again = await new App(server, { storage }).live();
  assert.deepEqual([app.resets, again.resets, again.shown], [["fresh"], [], ["two"]]);
});

test("items are held until the application has reloaded after a reset, and a failed reload is retried", async () => {
  const app = new App(server);
  let reads = 0;
  app.client.on("reset", async () => {
    reads += 1;
    server.otherPosts(`while reading ${reads}`);
    await app.client.conversations();
    assert.deepEqual(app.shown, []);
    if (reads === 1) throw new Error("the line broke");
  });
  await app.live();
  await app.shows("while reading 1", "while reading 2");
  assert.equal(reads, 2);
});

test("undelivered items are not saved: a client that dies while reloading is fresh again", async () => {
  const storage = new MemoryStorage();
  const app = new App(server, { storage });
  app.client.on("reset", () => new Promise(() => undefined));
  await app.live();
  app.client.close();
  const again = await new App(server, { storage }).live();
  assert.deepEqual(again.resets, ["fresh"]);
});

test("a new epoch drops held items and resets", async () => {
  const app = await new App(server).live();
  server.epoch = "e2";
  server.cut();
  await app.until("reset", () => app.resets.length === 2);
  server.otherPosts("after");
  await app.shows("after");
  assert.deepEqual(app.resets, ["fresh", "epoch"]);
});

test("a lost item is fetched", async () => {
  const app = await new App(server).live();
  server.passes = ({ seq }) => seq !== 1;
  server.otherPosts("lost");
  server.otherPosts("shows the gap");
  await app.shows("lost", "shows the gap");
});

test("messages of a conversation are stored in the order they were sent, despite failures", async () => {
  const app = await new App(server).live();
  let frames = 0;
  server.passes = () => {
    frames += 1;
    if (frames % 7 === 0) server.cut();
    return frames % 3 !== 0;
  };
  const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
  await Promise.all(texts.map((text) => app.client.send(ROOM, text)));
  assert.deepEqual(server.texts, texts);
});

test("two tries on the socket, then REST, with one id", async () => {
  const app = await new App(server).live();
  server.passes = ({ type }) => type !== "ack" && type !== "item";
  const { duplicate } = await app.client.send(ROOM, "hello");
  assert.deepEqual([app.tries, server.texts, duplicate], [["socket", "socket", "rest"], ["hello"], true]);
});

test("a message too large for a frame goes by REST", async () => {
  const app = await new App(server, PATIENT).live();
  await app.client.send(ROOM, "é".repeat(33_000));
  await app.client.send(ROOM, "small");
  assert.deepEqual(app.tries, ["rest", "socket"]);
});

test("an item whose message no longer exists is applied like any other", async () => {
  const app = await new App(server).live();
  server.add({ kind: "message", conversation_id: ROOM, message: null });
  server.otherPosts("next");
  await app.shows(undefined, "next");
});

test("typing is sent at most once per interval, for any number of key presses", async () => {
  const app = await new App(server).live();
  for (let key = 0; key < 9; key += 1) app.client.typing(ROOM);
  app.client.typing("side");
  await app.client.send(ROOM, "typed");
  const typed = server.frames.filter(({ type }) => type === "typing");
  assert.deepEqual(
    typed,
    [ROOM, "side"].map((conversation_id) => ({ type: "typing", conversation_id })),
  );
});

test("the user's own item confirms a send whose ack was lost", async () => {
  const app = await new App(server, PATIENT).live();
  server.passes = ({ type }) => type !== "ack";
  assert.equal((await app.client.send(ROOM, "hello")).message_id, "m1");
});

test("messages without a response are sent by the next start", async () => {
  const storage = new MemoryStorage();
  const app = await new App(server, { storage }).live();
  server.passes = () => false;
  const sending = app.client.send(ROOM, "kept");
  app.client.close();
  await assert.rejects(sending, { code: "stopped" });
  await assert.rejects(app.client.send(ROOM, "after the end"), { code: "stopped" });
  server.passes = () => true;
  const again = new App(server, { storage });
  const kept = again.client.outgoing.map(({ content }) => content["text"]);
  await again.live();
  await again.until("outgoing", () => again.client.outgoing.length === 0);
  assert.deepEqual(
    [kept, server.texts],
    [
      ["kept", "after the end"],
      ["kept", "after the end"],
    ],
  );
});

test("another tab of the user sends the queue of a closed tab", async () => {
  const storage = new MemoryStorage();
  const closed = await new App(server, { storage, deviceId: "tab 1" }).live();
  server.passes = ({ type }) => type !== "ack" && type !== "item";
  server.instead = (path) => (path === "POST /messages" ? { status: 503, body: {} } : null);
  closed.client.send(ROOM, "left").catch(() => undefined);
  closed.client.close();
  server.passes = () => true;
  server.instead = () => null;
  const other = await new App(server, { storage, deviceId: "tab 2" }).live();
  await other.until("outgoing", () => other.tries.length > 0 && other.client.outgoing.length === 0);
  assert.deepEqual(server.texts, ["left"]);
});

test("a refused message ends with its code, and the next one is sent", async () => {
  server.blockUpgrades = true;
  const app = new App(server);
  app.client.connect();
  await app.until("state", () => app.client.state === "polling");
  server.instead = (path) => (path === "POST /messages" ? { status: 403, body: { code: "forbidden" } } : null);
  await assert.rejects(app.client.send(ROOM, "no"), { code: "forbidden" });
  server.instead = () => null;
  await app.client.send(ROOM, "yes");
  assert.deepEqual(server.texts, ["yes"]);
});

test("the client polls while upgrades are blocked and switches back when they succeed", async () => {
  server.blockUpgrades = true;
  const app = new App(server);
  app.client.connect();
  await app.until("state", () => app.client.state === "polling");
  server.otherPosts("one");
  await app.shows("one");
  await app.client.send(ROOM, "two");
  server.blockUpgrades = false;
  await app.until("state", () => app.client.state === "live");
  server.otherPosts("three");
  await app.shows("one", "two", "three");
  assert.deepEqual([app.resets, app.tries], [["fresh"], ["rest"]]);
});

test("a full page of the long poll does not start a group's feed: its `joined` may be on the next page", async () => {
  server.blockUpgrades = true;
  const app = new App(server);
  app.client.connect();
  await app.until("state", () => app.client.state === "polling");
  const at = (feed: string, seq: number, more: object): object => ({ feed, seq, prev: seq - 1, conversation_id: ROOM, ...more });
  const messageItem = (feed: string, seq: number, text: string): object =>
    at(feed, seq, { kind: "message", message: { content: { text } } });
  const pages = [
    { heads: { [FEED]: 0, "group:g": 2 }, items: [messageItem("group:g", 1, "two"), messageItem("group:g", 2, "three")], has_more: true },
    {
      heads: { [FEED]: 2, "group:g": 2 },
      items: [messageItem(FEED, 1, "one"), at(FEED, 2, { kind: "joined", joins: { feed: "group:g", from: 0 } })],
      has_more: false,
    },
  ];
  server.instead = (path) => {
    const page = path === "GET /sync" ? pages.shift() : undefined;
    return page === undefined ? null : { status: 200, body: { epoch: server.epoch, resync_required: false, ...page } };
  };
  await app.shows("one", "joined", "two", "three");
});

test("a silent connection is dropped", async () => {
  server.heartbeat = 30;
  const app = await new App(server).live();
  server.passes = () => false;
  await app.until("state", () => app.states.includes("waiting"));
  server.passes = () => true;
  server.otherPosts("meanwhile");
  await app.shows("meanwhile");
});

for (const [code, end] of [
  [4409, "stopped 4409"],
  [4001, "live"],
  [1011, "live"],
] as const) {
  test(`a close with ${code} ends in ${end}`, async () => {
    const app = await new App(server).live();
    server.cut(code);
    await app.until("state", () => app.states.length > 3 && app.states.at(-1) === end);
  });
}

test("an invalid token stops the client, by socket and by REST", async () => {
  for (const blocked of [false, true]) {
    server.blockUpgrades = blocked;
    const app = new App(server, { token: "wrong" });
    app.client.connect();
    await app.until("state", () => app.states.at(-1) === "stopped 4401");
  }
});

test("unread counts others' messages once, and reading clears it", async () => {
  server.otherPosts("before");
  const app = new App(server);
  app.client.on("reset", async () => {
    server.otherPosts("while the list is read");
    await app.client.conversations();
  });
  await app.live();
  server.otherPosts("after");
  await app.client.send(ROOM, "mine");
  await app.until("item", () => app.shown.length === 3);
  assert.equal(await app.client.unread(ROOM), 3);
  app.client.read(ROOM, "m4");
  let count = 3;
  app.client.on("unread", (event) => (count = event.count));
  await app.until("unread", () => count === 0);
});

test("history is read page by page, each message once", async () => {
  for (let number = 1; number <= 7; number += 1) server.otherPosts(String(number));
  const app = await new App(server).live();
  const given: unknown[] = [];
  for await (const { content } of app.client.allHistory(ROOM, 3)) given.push(content?.["text"]);
  assert.deepEqual(given, ["7", "6", "5", "4", "3", "2", "1"]);
});

test("an expired cursor starts over, and no message is returned twice", async () => {
  for (let number = 1; number <= 5; number += 1) server.otherPosts(String(number));
  const app = await new App(server).live();
  let asked = 0;
  server.instead = (path) => {
    if (path === `GET /conversations/${ROOM}/messages`) asked += 1;
    return asked === 2 ? { status: 410, body: { code: "cursor_expired" } } : null;
  };
  const given: unknown[] = [];
  for await (const { content } of app.client.allHistory(ROOM, 2)) given.push(content?.["text"]);
  assert.deepEqual(given, ["5", "4", "3", "2", "1"]);
});

test("other API calls carry the token, and a refusal is thrown with its code", async () => {
  const app = new App(server);
  assert.deepEqual(await app.client.request(`/conversations/${ROOM}/read`, { method: "POST", body: {} }), {});
  await assert.rejects(app.client.request("/nowhere"), { code: "not_found", status: 404 });
});

test("a queue of a thousand rejects further messages", async () => {
  const app = new App(server);
  const sending = Array.from({ length: 1_000 }, (_, index) => app.client.send(ROOM, String(index)));
  await assert.rejects(app.client.send(ROOM, "one more"), { code: "queue_full" });
  assert.equal(sending.length, app.client.outgoing.length);
});
