import { afterEach, expect, test, vi } from "vitest";

import { stateOf } from "../src/inbox/media-state";
import { pollInterval, backoffDelay } from "../src/poll-interval";

afterEach(() => vi.unstubAllGlobals());

test("the interval grows up to a limit", () => {
  expect([0, 1, 2, 50].map((looks) => backoffDelay(looks, 1_000))).toEqual([1_000, 1_500, 2_250, 30_000]);
});

test("the interval grows while the server fails, and resets when it responds", () => {
  const failing = [1, 2, 3, 50].map((errorUpdateCount) => pollInterval({ status: "error", errorUpdateCount }, 800));
  expect(failing).toEqual([1_200, 1_800, 2_700, 30_000]);
  expect(pollInterval({ status: "success", errorUpdateCount: 50 }, 800)).toBe(800);
});

test.each([
  [206, undefined, "stored"],
  [409, "media_pending", "pending"],
  [409, "media_failed", "failed"],
  [404, "media_failed", "failed"],
  [404, "not_found", "gone"],
  [410, undefined, "gone"],
  [503, "unavailable", "pending"],
  [429, undefined, "pending"],
  [401, "unauthorized", "pending"],
])("a file with the response %s %s is %s", async (status, code, state) => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ code }, { status })));
  expect(await stateOf(7)).toBe(state);
});
