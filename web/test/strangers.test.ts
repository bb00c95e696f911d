import { expect, test, vi } from "vitest";

import { Strangers } from "../src/live/strangers";
import { aConversation } from "./examples";

const named = (id: number) => aConversation({ conversation_id: String(id) });

test("few conversations are asked for by name, a crowd by one page of the list", async () => {
  vi.useFakeTimers();
  const found: string[] = [];
  const one = vi.fn(async (id: string) => (id === "2" ? Promise.reject(new Error("gone")) : (named(Number(id)) as never)));
  const latest = vi.fn(async () => ({ conversations: [named(7), named(8), named(9)] as never, next_cursor: null, has_more: false }));
  const known = (id: string) => (id === "9" ? named(9) : undefined);
  const strangers = new Strangers({ conversation: one, conversations: latest }, known, ({ conversation_id }) => found.push(conversation_id));
  strangers.ask("1");
  await vi.runAllTimersAsync();
  expect(found).toEqual(["1"]);
  strangers.ask("2");
  for (let id = 3; id < 1_000; id += 1) strangers.ask(String(id));
  await vi.runAllTimersAsync();
  expect([one.mock.calls.length, latest.mock.calls.length]).toEqual([2, 1]);
  expect(found).toEqual(["1", "7", "8"]);
  strangers.ask("5");
  await vi.runAllTimersAsync();
  expect(found.at(-1)).toBe("5");
  vi.useRealTimers();
});
