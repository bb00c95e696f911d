/** The parts that stand alone: frames from the wire, states, the file store, the queue of a tab that is gone. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileStorage } from "../node/index.js";
import { newId } from "../src/ids.js";
import { GONE_AFTER_MS, Kept } from "../src/kept.js";
import { Lately } from "../src/lately.js";
import { parseFrame, type Outgoing } from "../src/protocol.js";
import { Sender } from "../src/sender.js";
import { MOST_HELD, startingAt, withItem } from "../src/sequence.js";
import { next, type Happening, type State } from "../src/states.js";
import { MemoryStorage } from "../src/storage.js";
import { DEFAULTS } from "../src/timings.js";

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
  test(`${String(text)} is no frame`, () => assert.equal(parseFrame(text), null));
}

test("a frame with more in it than is known is taken as it is", () => {
  const frame = { type: "pong", heads: { "user:1": 4 }, more: [1] };
  assert.deepEqual(parseFrame(JSON.stringify(frame)), frame);
});

const PATHS: readonly (readonly [State, ...Happening[]])[] = [
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

for (const [end, ...happenings] of PATHS) {
  test(`${happenings.join(", ")} ends in ${end}`, () => {
    assert.equal(happenings.reduce(next, "waiting"), end);
  });
}

test("a held thousand and one more is dropped, and still known to be missing", () => {
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

test("files keep what was set, and a write that was cut off is nothing", (t) => {
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

test("the queue comes back in its order, however long it was", () => {
  const storage = new MemoryStorage();
  const kept = new Kept(storage, "d");
  const ids = Array.from({ length: 25 }, (_, index) => `m${index}`);
  for (const id of ids) kept.add(message(id));
  kept.remove("m3");
  const again = new Kept(storage, "d");
  assert.deepEqual(
    again.outgoing().map(({ client_message_id }) => client_message_id),
    ids.filter((id) => id !== "m3"),
  );
  again.add(message("last"));
  assert.equal(new Kept(storage, "d").outgoing().at(-1)?.client_message_id, "last");
});

test("only a tab of the same user that is gone is taken over, and once", () => {
  const storage = new MemoryStorage();
  for (const [device, user, at] of [
    ["gone", "u", 0],
    ["alive", "u", 1],
    ["stranger's", "v", 0],
  ] as const) {
    const kept = new Kept(storage, device);
    kept.add(message(`of ${device}`));
    kept.sayAlive(user, at);
  }
  const mine = new Kept(storage, "mine");
  mine.sayAlive("u", GONE_AFTER_MS);
  const adopted = mine.adopt("u", GONE_AFTER_MS);
  assert.deepEqual(
    adopted.map(({ client_message_id }) => client_message_id),
    ["of gone"],
  );
  assert.deepEqual(mine.adopt("u", GONE_AFTER_MS), []);
  assert.deepEqual(new Kept(storage, "mine").outgoing(), adopted);
});

test("what somebody else wrote into the store harms nothing", () => {
  const storage = new MemoryStorage();
  storage.setItem("waypost:d:place", "{");
  storage.setItem("waypost:d:out:1", "nonsense");
  const kept = new Kept(storage, "d");
  assert.deepEqual([kept.place(), kept.outgoing()], [null, []]);
});

test("a sender holds nothing of a conversation in which nothing waits", async () => {
  const refused = { is: "refused", code: "not_found" } as const;
  const options = {
    kept: new Kept(new MemoryStorage(), "d"),
    clock: { now: () => 0, after: () => () => undefined },
    random: () => 0,
    timings: DEFAULTS,
    ways: () => ({ link: null, polling: true }),
    tell: () => undefined,
  };
  const sent = { is: "sent", message_id: "m", position: 1, duplicate: false } as const;
  const post = (asked: Outgoing) => Promise.resolve(asked.client_message_id === "no" ? refused : sent);
  const sender = new Sender({ ...options, post });
  sender.start();
  const all = ["yes", "no", "again", "other"].map((id) =>
    sender.send({ ...message(id), conversation_id: id === "other" ? "2" : "1" }),
  );
  assert.equal(sender.lanes, 2);
  const settled = await Promise.allSettled(all);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  assert.equal(sender.lanes, 0);
  await sender.send(message("later"));
  assert.equal(sender.lanes, 0);
});

test("what was done lately is not done again, and what is long ago is let go", () => {
  const lately = new Lately(10);
  assert.deepEqual(
    [lately.isDue("a", 0), lately.isDue("a", 9), lately.isDue("b", 9), lately.isDue("a", 10)],
    [true, false, true, true],
  );
  assert.equal(lately.isDue("c", 100), true);
  assert.equal(lately.size, 1);
});
