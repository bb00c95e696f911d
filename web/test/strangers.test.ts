import { expect, test, vi } from "vitest";

import { Strangers } from "../src/live/strangers";

test("few conversations are asked for by name, a crowd by one page of the list", async () => {
  vi.useFakeTimers();
  const byName = vi.fn(async (_: string) => undefined);
  const byPage = vi.fn(async () => undefined);
  const strangers = new Strangers(byName, byPage);
  strangers.ask("1");
  strangers.ask("1"); // while it is asked for
  await vi.runAllTimersAsync();
  expect(byName.mock.calls).toEqual([["1"]]);
  strangers.ask("2");
  for (let id = 3; id < 1_000; id += 1) strangers.ask(String(id));
  await vi.runAllTimersAsync();
  expect([byName.mock.calls.length, byPage.mock.calls.length]).toEqual([2, 1]);
  strangers.ask("5");
  await vi.runAllTimersAsync();
  expect(byName.mock.calls.at(-1)).toEqual(["5"]);
  for (let id = 10; id < 20; id += 1) strangers.ask(String(id));
  await vi.advanceTimersByTimeAsync(1); // the first by name, then the others by a page, which is answered
  strangers.ask("15");
  await vi.runAllTimersAsync();
  expect(byName.mock.calls.at(-1)).toEqual(["15"]);
  vi.useRealTimers();
});
