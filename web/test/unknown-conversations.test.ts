import { expect, test, vi } from "vitest";

import { UnknownConversations } from "../src/live/unknown-conversations";

test("a few unknown conversations are loaded one by one, many with one page of the list", async () => {
  vi.useFakeTimers();
  const loadOne = vi.fn(async (_: string) => undefined);
  const loadPage = vi.fn(async () => undefined);
  const unknown = new UnknownConversations(loadOne, loadPage);
  unknown.load("1");
  unknown.load("1"); // while it is loading
  await vi.runAllTimersAsync();
  expect(loadOne.mock.calls).toEqual([["1"]]);
  unknown.load("2");
  for (let id = 3; id < 1_000; id += 1) unknown.load(String(id));
  await vi.runAllTimersAsync();
  expect([loadOne.mock.calls.length, loadPage.mock.calls.length]).toEqual([2, 1]);
  unknown.load("5");
  await vi.runAllTimersAsync();
  expect(loadOne.mock.calls.at(-1)).toEqual(["5"]);
  for (let id = 10; id < 20; id += 1) unknown.load(String(id));
  await vi.advanceTimersByTimeAsync(1); // the first one by one, then the others with a page
  unknown.load("15");
  await vi.runAllTimersAsync();
  expect(loadOne.mock.calls.at(-1)).toEqual(["15"]);
  vi.useRealTimers();
});
