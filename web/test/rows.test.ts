import { expect, test } from "vitest";

import { UNREAD_THREAD } from "../src/live/changes";
import { rowsOf } from "../src/live/rows";
import { aMessage } from "./examples";

const at = (position: number, timestamp: string, more = {}) => aMessage({ position, timestamp, ...more });

test("a day is named once, and messages of one sender stand together", () => {
  const messages = [
    at(1, "2026-11-15T12:00:00"),
    at(2, "2026-11-16T12:00:00"),
    at(3, "2026-11-16T12:01:00"),
    at(4, "2026-11-16T12:02:00", { sender_id: "bot" }),
  ];
  const rows = rowsOf({ ...UNREAD_THREAD, messages }, [], []);
  expect(rows.map((row) => row.is)).toEqual(["day", "message", "day", "message", "message", "message"]);
  const ends = rows.flatMap((row) => (row.is === "message" ? [[row.first, row.last]] : []));
  expect(ends).toEqual([[true, true], [true, false], [false, true], [true, true]]);
});

test("a day that may go on further up is not named yet", () => {
  const messages = [at(7, "2026-11-15T12:00:00"), at(8, "2026-11-16T12:00:00")];
  const rows = rowsOf({ ...UNREAD_THREAD, messages, cursor: "more" }, [], []);
  expect(rows.map((row) => row.is)).toEqual(["message", "day", "message"]);
});

test("a message that came back as an item is not shown as on its way, and keeps its row", () => {
  const outgoing = { client_message_id: "c1", conversation_id: "1", content: { type: "text", text: "hi" } };
  const before = rowsOf(UNREAD_THREAD, [outgoing], []);
  const message = at(1, "2026-11-16T12:00:00", { client_message_id: "c1" });
  const after = rowsOf({ ...UNREAD_THREAD, messages: [message] }, [outgoing], []);
  expect(before.map(({ key }) => key)).toEqual(["c1"]);
  expect(after.map(({ is, key }) => [is, key]).slice(1)).toEqual([["message", "c1"]]);
});

test("what happened stands between the messages that it happened between", () => {
  const messages = [at(1, "2026-11-16T12:00:00"), at(2, "2026-11-16T12:05:00")];
  const happenings = [
    { key: "a", at: "2026-11-16T12:01:00", after: 1, floor: "user_1" },
    { key: "b", at: "2026-11-16T12:06:00", after: 2, floor: "bot" },
  ];
  const rows = rowsOf({ ...UNREAD_THREAD, messages, happenings }, [], []);
  expect(rows.map((row) => row.is)).toEqual(["day", "message", "happening", "message", "happening"]);
});
