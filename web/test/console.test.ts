/** The console's pure modules: calls and their commands, URLs, times and totals. */

import { describe, expect, test } from "vitest";

import { call } from "../src/console/api";
import { curlOf } from "../src/console/curl";
import { agoWords, lasting } from "../src/console/kit/time";
import { broken, closed, count, isCut, oldest, perMinute, total, troubles } from "../src/console/overview/figures";
import { may } from "../src/console/roles";
import { fieldsOf, inWords, read } from "../src/console/settings/fields";
import { nameIn, stateOf } from "../src/console/turns/turn-text";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();

describe("a call", () => {
  test("has its parameters and query, and omits empty values", () => {
    const made = call("get", "/api/v1/outbound/session-windows/{phone}", { path: { phone: "+1 555/0" } });
    expect(made).toEqual({ method: "GET", path: "/api/v1/outbound/session-windows/%2B1%20555%2F0" });
    expect(call("get", "/api/v1/overview", { query: { minutes: 15 } }).path).toBe("/api/v1/overview?minutes=15");
    expect(call("get", "/api/v1/turns", { query: { state: null } }).path).toBe("/api/v1/turns");
  });

  test("is a correctly quoted shell command without a key", () => {
    const made = call("patch", "/api/v1/policy", { body: { word: "it's $HOME" } });
    expect(curlOf(made, "https://desk.example")).toBe(
      [
        "curl -X PATCH 'https://desk.example/api/v1/policy'",
        '-H "Authorization: Bearer $WAYPOST_KEY"',
        "-H 'Content-Type: application/json'",
        `-d '{"word":"it'\\''s $HOME"}'`,
      ].join(" \\\n  "),
    );
  });
});

test("an agent has the rights of a sender, and only an admin has all rights", () => {
  expect(["readonly", "sender", "agent", "admin"].map((role) => may(role as "agent", "sender"))).toEqual([false, true, true, true]);
  expect(may("agent", "admin")).toBe(false);
});

describe("times", () => {
  test.each([
    [2, "just now"],
    [-2, "just now"],
    [42, "42 s ago"],
    [150, "2 min ago"],
    [-150, "in 2 min"],
    [26 * 3600, "26 h ago"],
    [3 * 86_400, "3 days ago"],
  ])("%d seconds ago", (seconds, text) => expect(agoWords(ago(seconds), NOW)).toBe(text));

  test.each([
    [0.0181, "18 ms"],
    [4.21, "4.2 s"],
    [38.4, "38 s"],
    [60, "1 min"],
    [210, "3.5 min"],
    [90_000, "25 h"],
  ])("%d seconds long", (seconds, text) => expect(lasting(seconds)).toBe(text));
});

describe("the overview", () => {
  const none = { count: 0, p50: null, p95: null, p99: null };
  const step = (sent: number, received = 0) => ({
    at: ago(60),
    received,
    sent,
    delivered: 0,
    failed: 0,
    queued_to_sent_seconds: none,
    sent_to_delivered_seconds: none,
    queue_age_seconds: 0,
  });

  test("sums its steps, and converts them to rates per minute", () => {
    expect(total([step(2), step(3, 1)], "sent")).toBe(5);
    expect(perMinute([step(2), step(30)], "sent", 10)).toEqual([12, 180]);
    expect(perMinute([step(50)], "sent", 300)).toEqual([10]);
  });

  test("reports a truncated range only if it was truncated", () => {
    expect(isCut({ at: ago(0), since: ago(3600) }, 60)).toBe(false);
    expect(isCut({ at: ago(0), since: ago(45) }, 60)).toBe(true);
  });

  test("counts waiting messages and the age of the oldest", () => {
    const waiting = [
      { reason: "hold", messages: 3, oldest_at: ago(90) },
      { reason: "none", messages: 2, oldest_at: ago(5) },
    ];
    expect([count(waiting), oldest(waiting, ago(0)), oldest([], ago(0))]).toEqual([5, 90, null]);
  });

  test("closed gates count, except a disabled number without waiting messages", () => {
    const gate = (kind: string, code: string, waiting: number) => ({ kind, code, waiting });
    expect(closed([])).toEqual({ held: 0, slowed: 0 });
    expect(closed([gate("hold", "190", 0), gate("throttle", "130429", 2), gate("hold", "NUMBER_DISABLED", 0)])).toEqual({ held: 1, slowed: 1 });
    expect(closed([gate("hold", "NUMBER_DISABLED", 3), gate("breaker", "BREAKER", 0)])).toEqual({ held: 1, slowed: 1 });
  });

  test("counts problems and failed invariants", () => {
    const part = (state: "ok" | "trouble" | "off") => ({ name: state, state, detail: "" });
    expect(troubles([part("ok"), part("trouble"), part("off")])).toBe(1);
    expect(broken({ looked_at: null, checked: [{ name: "a", violations: 0 }, { name: "b", violations: 2 }] })).toBe(1);
  });
});

describe("settings", () => {
  const defaults = { backoffMinutes: [1, 5], unsure: "requeue", requestRate: null, defaultRegion: null, turns: {}, historyDays: 0 };

  test("of the policy are the org's, otherwise the default, otherwise none", () => {
    const fields = new Map(fieldsOf({ policy: { unsure: "park" }, defaults }).map((field) => [field.name, field]));
    expect(fields.get("unsure")).toMatchObject({ inForce: "park", own: true });
    expect(fields.get("historyDays")).toMatchObject({ inForce: 0, own: false });
    expect(fields.get("budget")).toMatchObject({ inForce: null, own: false });
  });

  test("are parsed and formatted", () => {
    expect([read('"park"'), read("null"), read("{")]).toEqual(["park", null, undefined]);
    expect(inWords([1, 5])).toBe("1, 5");
    expect(inWords({ perSecond: 50, waits: [1, 2] })).toBe("perSecond: 50\nwaits: 1, 2");
  });
});

test("a turn has the customer's name and a state", () => {
  const contact = { contact_id: "1", name: null, username: null, phone: "+1555", user_id: null, dossier_id: null };
  expect([nameIn({ contact }), nameIn({ contact: null })]).toEqual(["+1555", "Unnamed"]);
  expect(stateOf({ owner: "w", due: null, attempts: 0 }, NOW)).toBe("thinks");
  expect(stateOf({ owner: null, due: ago(1), attempts: 0 }, NOW)).toBe("due");
  expect(stateOf({ owner: null, due: ago(-1), attempts: 0 }, NOW)).toBe("collects");
  expect(stateOf({ owner: null, due: ago(-1), attempts: 2 }, NOW)).toBe("retries");
});
