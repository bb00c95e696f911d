import { expect, test } from "vitest";

import { UNREAD_THREAD } from "../src/live/changes";
import { rowsOf, storedAt } from "../src/live/rows";
import { aMessage } from "./examples";

const NOW = Date.parse("2026-11-16T13:00:00");
const at = (position: number, timestamp: string, more = {}) => aMessage({ position, timestamp, ...more });

test("a day has one separator, and messages of one sender are grouped", () => {
  const messages = [
    at(1, "2026-11-15T12:00:00"),
    at(2, "2026-11-16T12:00:00"),
    at(3, "2026-11-16T12:01:00"),
    at(4, "2026-11-16T12:02:00", { sender_id: "bot" }),
  ];
  const rows = rowsOf({ ...UNREAD_THREAD, messages }, { now: NOW });
  expect(rows.map((row) => row.is)).toEqual(["day", "message", "day", "message", "message", "message"]);
  const ends = rows.flatMap((row) => (row.is === "message" ? [[row.first, row.last]] : []));
  expect(ends).toEqual([[true, true], [true, false], [false, true], [true, true]]);
});

test("a day that may continue in earlier messages has no separator yet", () => {
  const messages = [at(7, "2026-11-15T12:00:00"), at(8, "2026-11-16T12:00:00")];
  const rows = rowsOf({ ...UNREAD_THREAD, messages, cursor: "more" }, { now: NOW });
  expect(rows.map((row) => row.is)).toEqual(["message", "day", "message"]);
});

test("a message that arrived as an item is not shown as outgoing, and keeps its row", () => {
  const outgoing = { client_message_id: "c1", conversation_id: "1", content: { type: "text", text: "hi" } };
  const before = rowsOf(UNREAD_THREAD, { outgoing: [outgoing] });
  const message = at(1, "2026-11-16T12:00:00", { client_message_id: "c1" });
  const after = rowsOf({ ...UNREAD_THREAD, messages: [message] }, { outgoing: [outgoing], now: NOW });
  expect(before.map(({ key }) => key)).toEqual(["c1"]);
  expect(after.map(({ is, key }) => [is, key]).slice(1)).toEqual([["message", "c1"]]);
});

test("events are placed between messages by time", () => {
  const messages = [at(1, "2026-11-16T12:00:00"), at(2, "2026-11-16T12:05:00")];
  const events = [
    { key: "a", at: "2026-11-16T12:01:00", action: { is: "floor", from: "bot", to: "user_1", why: null, by: "user_1" } as const },
    { key: "b", at: "2026-11-16T12:06:00", action: { is: "floor", from: "user_1", to: "bot", why: null, by: "user_1" } as const },
  ];
  const rows = rowsOf({ ...UNREAD_THREAD, messages }, { events, now: NOW });
  expect(rows.map((row) => row.is)).toEqual(["day", "message", "event", "message", "event"]);
  const later = rowsOf({ ...UNREAD_THREAD, messages: messages.slice(1), cursor: "more" }, { events, now: NOW });
  expect(later.map((row) => row.is), "events before the loaded messages are omitted").toEqual(["message", "event"]);
});

test("a separator shows where the 24-hour window closed", () => {
  const messages = [at(1, "2026-11-10T12:00:00"), at(2, "2026-11-10T13:00:00", { sender_id: "bot" }), at(3, "2026-11-14T12:00:00")];
  const rows = rowsOf({ ...UNREAD_THREAD, messages }, { now: NOW });
  expect(rows.map((row) => (row.is === "event" ? row.action.is : row.is))).toEqual([
    ...["day", "message", "message", "day", "window", "day", "message", "day", "window"],
  ]);
});

test("the first unread customer message is marked, once", () => {
  const messages = [1, 2, 3, 4].map((position) => at(position, `2026-11-16T12:0${position}:00`, position === 2 ? { sender_id: "bot" } : {}));
  const rows = rowsOf({ ...UNREAD_THREAD, messages }, { readUpTo: 1, now: NOW });
  expect(rows.map((row) => row.is)).toEqual(["day", "message", "message", "unread", "message", "message"]);
});

test("reactions are attached to their message, and replies quote theirs", () => {
  const reaction = (emoji: string) => ({ type: "reaction", reaction: { message_id: "w1", emoji } });
  const messages = [
    at(1, "2026-11-16T12:00:00", { sender_id: "bot", provider_message_id: "w1" }),
    at(2, "2026-11-16T12:01:00", { content: reaction("👍") }),
    at(3, "2026-11-16T12:02:00", { content: reaction("🎉") }),
    at(4, "2026-11-16T12:03:00", { content: { type: "text", text: "yes", context: { id: "w1" } } }),
    at(5, "2026-11-16T12:04:00", { content: { type: "text", text: "no", context: { id: "elsewhere" } } }),
    at(6, "2026-11-16T12:05:00", { content: { type: "reaction", reaction: { message_id: "elsewhere", emoji: "👍" } } }),
  ];
  const rows = rowsOf({ ...UNREAD_THREAD, messages }, { now: NOW }).flatMap((row) => (row.is === "message" ? [row] : []));
  expect(rows.map(({ message }) => message.position)).toEqual([1, 4, 5, 6]);
  expect(rows[0]?.reactions).toEqual([{ sender: "contact:7", emoji: "🎉" }]);
  expect(rows[1]?.quoted?.position).toBe(1);
  expect(rows[2]?.quoted).toBeNull();
  expect(rows[3]?.quoted).toBeUndefined();
});

test("the message ID contains the time of storage", () => {
  const timestamp = "2026-11-16T12:00:00Z";
  expect(storedAt({ message_id: "13814000-1dd2-11b2-8000-000000000000", timestamp })).toBe(0);
  expect(storedAt({ message_id: "m1", timestamp })).toBe(Date.parse(timestamp));
});

/** An ID as the server creates it, with the time of storage. */
const idAt = (moment: string): string => {
  const ticks = (BigInt(Date.parse(moment)) * 10_000n + 0x01b21dd213814000n).toString(16).padStart(15, "0");
  return `${ticks.slice(7)}-${ticks.slice(3, 7)}-1${ticks.slice(0, 3)}-8000-000000000000`;
};

test("days never go backwards for late messages", () => {
  const late = at(1, "2026-11-15T11:00:00", { message_id: idAt("2026-11-16T12:30:00") });
  const answer = at(2, "2026-11-16T12:31:00", { sender_id: "bot", message_id: idAt("2026-11-16T12:31:00") });
  const shown = (messages: readonly (typeof late)[]) =>
    rowsOf({ ...UNREAD_THREAD, messages }, { now: NOW }).map((row) => (row.is === "event" ? row.action.is : row.is === "message" && row.late ? "late" : row.is));
  expect(shown([late, answer]), "the window closes below the message that opened it").toEqual(["day", "message", "day", "window", "message"]);
  const before = at(0, "2026-11-16T09:00:00", { message_id: idAt("2026-11-16T09:00:00") });
  expect(shown([before, late, answer]), "the window does not close while newer messages keep it open").toEqual(["day", "message", "late", "message"]);
});
