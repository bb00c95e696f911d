/** After signing out, the next user of the same tab finds no data of the previous one. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Checked } from "../src/console/batch/check";

const replace = vi.fn();
let requests: string[] = [];
let answer: (response: Response) => void = () => undefined;

beforeEach(() => {
  requests = [];
  replace.mockReset();
  vi.stubGlobal("addEventListener", vi.fn());
  vi.stubGlobal("location", { replace: (to: string) => (requests.push(`to ${to}`), replace(to)) });
  vi.stubGlobal("fetch", (path: string, { method }: RequestInit) => {
    requests.push(`${method} ${path}`);
    if (method === "DELETE") return Promise.resolve(new Response(null, { status: 204 }));
    return new Promise<Response>((resolve) => (answer = resolve));
  });
});
afterEach(() => vi.unstubAllGlobals());

test("signing out notifies the server and reloads the page", async () => {
  const { leave } = await import("../src/session");
  await leave(true);
  await leave(false);
  expect(requests).toEqual(["DELETE /api/v1/session", "to /", "to /"]);
  vi.stubGlobal("fetch", () => Promise.reject(new Error("away")));
  await leave(true);
  expect(replace).toHaveBeenCalledTimes(3);
});

test("a batch ends with its user's session", async () => {
  const { begin } = await import("../src/console/batch/current");
  const { leave } = await import("../src/session");
  const checked = Array.from({ length: 300 }, (_, index): Checked => ({ row: { number: index + 2, cells: { to: "+15550001111", text: "hi" }, wrong: null }, refused: null, doubt: null }));
  begin("a.csv", checked);
  await leave(true);
  answer(Response.json({ results: Array.from({ length: 200 }, () => ({ status: 201, message: { id: 1 } })) }));
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(requests).toEqual(["POST /api/v1/outbound/messages/batch", "DELETE /api/v1/session", "to /"]);
});

test("a draft belongs to its author, and survives a full storage", async () => {
  const kept = new Map<string, string>();
  let isFull = false;
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    removeItem: (key: string) => kept.delete(key),
    setItem: (key: string, value: string) => {
      if (isFull) throw new DOMException("full", "QuotaExceededError");
      kept.set(key, value);
    },
  });
  const { draftOf, setDraft } = await import("../src/inbox/drafts");
  setDraft("u1", "7", "secret");
  expect([draftOf("u1", "7"), draftOf("u2", "7")]).toEqual(["secret", ""]);
  isFull = true;
  setDraft("u1", "7", "secrets");
  expect(draftOf("u1", "7")).toBe("secrets");
  setDraft("u1", "7", "");
  expect(draftOf("u1", "7")).toBe("");
});
