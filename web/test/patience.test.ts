import { afterEach, expect, test, vi } from "vitest";

import { stateOf } from "../src/inbox/media-state";
import { everyUnlessFailing, waitAfter } from "../src/patience";

afterEach(() => vi.unstubAllGlobals());

test("one looks soon, then less and less often, but never stops by itself", () => {
  expect([0, 1, 2, 50].map((looks) => waitAfter(looks, 1_000))).toEqual([1_000, 1_500, 2_250, 30_000]);
});

test("a server that fails is asked less and less often, and as before once it answers", () => {
  const failing = [1, 2, 3, 50].map((errorUpdateCount) => everyUnlessFailing({ status: "error", errorUpdateCount }, 800));
  expect(failing).toEqual([1_200, 1_800, 2_700, 30_000]);
  expect(everyUnlessFailing({ status: "success", errorUpdateCount: 50 }, 800)).toBe(800);
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
])("a file of which the server says %s %s is %s", async (status, code, state) => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ code }, { status })));
  expect(await stateOf(7)).toBe(state);
});
