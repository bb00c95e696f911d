/** Unit tests: frame parsing, state transitions, file storage, and taking over a closed tab's queue. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileStorage } from "../node/index.js";
import { newId } from "../src/ids.js";
import { GONE_AFTER_MS, Store } from "../src/store.js";
import { Throttle } from "../src/throttle.js";
import { parseFrame, type Outgoing } from "../src/types.js";
import { MessageSender } from "../src/post.js";
import { MOST_HELD, startingAt, withItem } from "../src/feed_state.js";
import { nextState, type ConnectionEvent, type State } from "../src/connection_state.js";
import { MemoryStorage } from "../src/storage.js";
import { DEFAULTS } from "../src/timing.js";

const NONSENSE: readonly unknown[] = [
  ...[
    "{",
    "",
    "null",
    "[1, 2]",
    "7",
    '{"no": "type"}',
    '{"type": "confetti"}',
    '{"type": "constructor"}',
    '{"type": 7}',
  ],
  ...[
    '{"type": "item"}',
    '{"type": "item", "feed": "user:1", "seq": -1, "prev": -2, "kind": "message"}',
    '{"type": "ack"}',
  ],
  ...['{"type": "welcome", "epoch": "e", "heads": {"user:1": "7"}, "heartbeat_ms": 5}', new ArrayBuffer(4), undefined],
];

for (const text of NONSENSE) {
  test(`${String(text)} is not a frame`, () => assert.equal(parseFrame(text), null));
}

test("unknown fields of a frame are kept", () => {
  const frame = { type: "pong", heads: { "user:1": 4 }, more: [1] };
  assert.deepEqual(parseFrame(JSON.stringify(frame)), frame);
});

const PATHS: readonly (readonly [State, ...ConnectionEvent[]])[] = [
  ["live", "attempt", "welcome", "live"],
  ["waiting", "attempt", "lost"],
  ["waiting", "attempt", "welcome", "live", "lost"],
  ["polling", "attempt", "answered"],
  ["catching_up", "attempt", "answered", "welcome"],
  ["waiting", "attempt", "answered", "lost"],
  ["stopped", "attempt", "welcome", "stop", "attempt", "welcome", "live"],
  ["stopped", "stop"],
  ["live", "attempt", "welcome", "live", "live", "welcome", "answered"],
];

for (const [end, ...events] of PATHS) {
  test(`${events.join(", ")} ends in ${end}`, () => {
    assert.equal(events.reduce(nextState, "waiting"), end);
  });
}

test("held items beyond a thousand are dropped and stay reported as a gap", () => {
  let state = startingAt(0);
  for (let seq = 2; seq <= MOST_HELD + 2; seq += 1)
    state = withItem(state, { feed: "user:1", seq, prev: seq - 1, kind: "message" });
  assert.deepEqual(state, { last: 0, head: MOST_HELD + 2, held: [] });
});

test("ids are random UUIDs", () => {
  const ids = Array.from({ length: 100 }, newId);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, 100);
});

test("files keep their values, and an incomplete write is ignored", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "waypost-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const storage = new FileStorage(folder);
  storage.setItem("a:b/c", "1");
  storage.setItem("a:b/c", "2");
  storage.setItem("gone", "3");
  storage.removeItem("gone");
  writeFileSync(join(folder, "half.new"), "{");
  const again = new FileStorage(folder);
  assert.deepEqual(
    [again.length, again.key(0), again.getItem("a:b/c"), again.getItem("gone")],
    [1, "a:b/c", "2", null],
  );
  assert.equal(readdirSync(folder).length, 1);
});

const message = (client_message_id: string) => ({ client_message_id, conversation_id: "c", content: { type: "text" } });

test("the queue is restored in order, at any length", () => {
  const storage = new MemoryStorage();
  const store = new Store(storage, "d");
  const ids = Array.from({ length: 25 }, (_, index) => `m${index}`);
  for (const id of ids) store.add(message(id));
  store.remove("m3");
  const again = new Store(storage, "d");
  assert.deepEqual(
    again.outgoing().map(({ client_message_id }) => client_message_id),
    ids.filter((id) => id !== "m3"),
  );
  again.add(message("last"));
  assert.equal(new Store(storage, "d").outgoing().at(-1)?.client_message_id, "last");
});

test("only closed tabs of the same user are taken over, once", () => {
  const storage = new MemoryStorage();
  for (const [device, user, at] of [
    ["gone", "u", 0],
    ["alive", "u", 1],
    ["stranger's", "v", 0],
  ] as const) {
    const store = new Store(storage, device);
    store.add(message(`of ${device}`));
    store.markAlive(user, at);
  }
  const mine = new Store(storage, "mine");
  mine.markAlive("u", GONE_AFTER_MS);
  const adopted = mine.adopt("u", GONE_AFTER_MS);
  assert.deepEqual(
    adopted.map(({ client_message_id }) => client_message_id),
    ["of gone"],
  );
  assert.deepEqual(mine.adopt("u", GONE_AFTER_MS), []);
  assert.deepEqual(new Store(storage, "mine").outgoing(), adopted);
});

test("invalid values in the storage are ignored", () => {
  const storage = new MemoryStorage();
  storage.setItem("waypost:d:place", "{");
  storage.setItem("waypost:d:out:1", "nonsense");
  const store = new Store(storage, "d");
  assert.deepEqual([store.feedPosition(), store.outgoing()], [null, []]);
});

test("a sender keeps no state for a conversation without queued messages", async () => {
  const refused = { is: "refused", code: "not_found" } as const;
  const options = {
    store: new Store(new MemoryStorage(), "d"),
    clock: { now: () => 0, after: () => () => undefined },
    random: () => 0,
    timings: DEFAULTS,
    transports: () => ({ socket: null, polling: true }),
    emit: () => undefined,
  };
  const sent = { is: "sent", message_id: "m", position: 1, duplicate: false } as const;
  const post = (asked: Outgoing) => Promise.resolve(asked.client_message_id === "no" ? refused : sent);
  const sender = new MessageSender({ ...options, post });
  sender.start();
  const all = ["yes", "no", "again", "other"].map((id) =>
    sender.send({ ...message(id), conversation_id: id === "other" ? "2" : "1" }),
  );
  assert.equal(sender.activeConversations, 2);
  const settled = await Promise.allSettled(all);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  assert.equal(sender.activeConversations, 0);
  await sender.send(message("later"));
  assert.equal(sender.activeConversations, 0);
});

test("an action is limited to once per interval, and expired entries are removed", () => {
  const throttle = new Throttle(10);
  assert.deepEqual(
    [throttle.isDue("a", 0), throttle.isDue("a", 9), throttle.isDue("b", 9), throttle.isDue("a", 10)],
    [true, false, true, true],
  );
  assert.equal(throttle.isDue("c", 100), true);
  assert.equal(throttle.size, 1);
});
