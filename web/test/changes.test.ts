import type { Item } from "@waypost/client";
import { describe, expect, test } from "vitest";

import { byActivity, conversationWith, merged, UNREAD_THREAD, withItem } from "../src/live/changes";
import { aConversation, aMessage } from "./examples";

const item = (kind: string, more: object): Item => ({ feed: "team:x", seq: 1, prev: 0, kind, conversation_id: "1", ...more });

describe("a thread", () => {
  test("contains each message once, in order, when pages and items overlap", () => {
    const [one, two, three, four] = [1, 2, 3, 4].map((position) => aMessage({ position }));
    const live = merged([], [four!]);
    expect(merged([three!, two!, one!, four!], live).map(({ position }) => position)).toEqual([1, 2, 3, 4]);
    expect(merged(live, [four!])).toHaveLength(1);
  });

  test("updates a message's status, and keeps the error", () => {
    const thread = { ...UNREAD_THREAD, messages: [aMessage({ position: 1, message_id: "m1", status: "sent" })] };
    const error = { code: "131026", title: "no", remedy: "none" };
    const failed = withItem(thread, item("status", { message_id: "m1", status: "failed", error_code: "131026", error, provider_message_id: "w1" }));
    expect(failed.messages[0]).toMatchObject({ status: "failed", error, provider_message_id: "w1" });
    const waits = withItem(failed, item("status", { message_id: "m1", status: null, error: null }));
    expect(waits.messages[0]).toMatchObject({ status: null, error: null, provider_message_id: "w1" });
    expect(withItem(thread, item("status", { message_id: "other", status: "read" }))).toBe(thread);
  });

  test("marks a deleted message", () => {
    const thread = { ...UNREAD_THREAD, messages: [aMessage({ position: 1, message_id: "m1" })] };
    expect(withItem(thread, item("deleted", { message_id: "m1" })).messages[0]?.content).toEqual({ type: "deleted" });
  });
});

describe("a row of the list", () => {
  test("shows the newest message only", () => {
    const row = aConversation({ last_message: aMessage({ position: 5 }) });
    expect(conversationWith(row, item("message", { message: aMessage({ position: 4 }) }))).toBe(row);
    expect(conversationWith(row, item("message", { message: aMessage({ position: 6 }) })).last_message?.position).toBe(6);
  });

  test("is sorted by its latest activity", () => {
    const quiet = aConversation({ conversation_id: "1", active_at: "2026-01-01T00:00:00Z" });
    const busy = aConversation({ conversation_id: "2", active_at: "2026-01-02T00:00:00.5Z" });
    const busier = aConversation({ conversation_id: "3", active_at: "2026-01-02T00:00:00.75Z" });
    expect([quiet, busy, busier].sort(byActivity).map(({ conversation_id }) => conversation_id)).toEqual(["3", "2", "1"]);
  });

  test("has an open window for 24 hours after the customer wrote, not shortened by late messages", () => {
    const row = aConversation({ last_message: null });
    const wrote = conversationWith(row, item("message", { at: "2026-11-16T10:00:01Z", message: aMessage({ position: 1, timestamp: "2026-11-16T10:00:00Z" }) }));
    expect([wrote.window_expires_at, wrote.active_at]).toEqual(["2026-11-17T10:00:00.000Z", "2026-11-16T10:00:01Z"]);
    const late = conversationWith(wrote, item("message", { at: "2026-11-16T10:00:02Z", message: aMessage({ position: 2, timestamp: "2026-11-15T10:00:00Z" }) }));
    expect(late.window_expires_at).toBe(wrote.window_expires_at);
    const ours = conversationWith(row, item("message", { at: "2026-11-16T10:00:02Z", message: aMessage({ position: 2, sender_id: "bot" }) }));
    expect(ours.window_expires_at).toBeNull();
  });

  test("an item of an unknown kind changes nothing", () => {
    const row = aConversation({});
    expect(conversationWith(row, item("sparkles", {}))).toBe(row);
    expect(withItem(UNREAD_THREAD, item("sparkles", {}))).toBe(UNREAD_THREAD);
  });
});
