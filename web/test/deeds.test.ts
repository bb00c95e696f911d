/** The audit of a conversation: read once, told in the thread and in the console, and never told as what it is not. */

import { expect, test } from "vitest";

import { saidOf } from "../src/console/audit/details";
import { wordsOf } from "../src/inbox/happening";
import { deedsOf, type Deed } from "../src/live/deeds";
import { happeningsOf } from "../src/live/happenings";

const by = "user_1";
const named = (id: string) => (id === "user_1" ? "Ann" : id);
const entry = (action: string, details: string, more: { id?: string; at?: string; entityType?: string } = {}) => ({ id: "1", at: "", entityType: "CONVERSATION", entityId: "1", action, actor: by, details, ...more });

test.each<[string, string, readonly Deed[], string, readonly string[]]>([
  ["UPDATED", '{"assignee":"user_1"}', [{ is: "assigned", to: "user_1", by }], "Assigned to Ann", ["Ann took it on"]],
  ["UPDATED", '{"assignee":null}', [{ is: "assigned", to: null, by }], "Assigned to nobody", ["Ann assigned it to nobody"]],
  ["UPDATED", '{"state":"closed"}', [{ is: "state", to: "closed", by }], "Closed", ["Ann closed the conversation"]],
  [
    ...["UPDATED", '{"labels":["vip","late"],"state":"open"}'] as const,
    [{ is: "labels", labels: ["vip", "late"], by }, { is: "state", to: "open", by }],
    ...["Labels: vip, late; opened again", ["Ann set the labels: vip, late", "Ann opened the conversation again"]] as const,
  ],
  ["UPDATED", '{"labels":[]}', [{ is: "labels", labels: [], by }], "All labels taken away", ["Ann took the labels away"]],
  ["UPDATED", '{"title":"Team"}', [{ is: "title", to: "Team", by }], "Titled “Team”", ["Ann titled it “Team”"]],
  ["FLOOR_CHANGED", "from bot to user_1", [{ is: "floor", from: "bot", to: "user_1", why: null, by }], "From the bot to Ann", ["Ann took over"]],
  ["FLOOR_CHANGED", "from user_1 to bot: closed", [{ is: "floor", from: "user_1", to: "bot", why: "closed", by }], "From Ann to the bot: the conversation was closed", ["Ann handed back to the bot"]],
  ["FLOOR_CHANGED", "from bot to human: it fell:\ntwice", [{ is: "floor", from: "bot", to: "human", why: "it fell:\ntwice", by }], "From the bot to the team: it fell:\ntwice", ["Ann left it to any person"]],
])("%s %s is read once and told twice", (action, details, deeds, sentence, lines) => {
  const audited = entry(action, details);
  expect(deedsOf(audited)).toEqual(deeds);
  expect(saidOf(audited, named)).toBe(sentence);
  expect(happeningsOf([audited]).map(({ deed }) => wordsOf(deed, "me", named))).toEqual(lines);
});

test.each([
  ["UPDATED", '{"colour":"red"}'],
  ["UPDATED", '{"state":"frozen"}'],
  ["UPDATED", '{"assignee":7}'],
  ["UPDATED", '{"title":null}'],
  ["UPDATED", '{"labels":"vip"}'],
  ["UPDATED", "message 3 of bot was taken back"],
  ["UPDATED", "{}"],
  ["UPDATED", "[1]"],
  ["UPDATED", "null"],
  ["FLOOR_CHANGED", "restored from a backup"],
  ["FLOOR_CHANGED", "from bot to nowhere in particular"],
  ["SPARKLED", ""],
])("%s %s is of no known shape: the thread leaves it out, the console shows the text", (action, details) => {
  expect(happeningsOf([entry(action, details)])).toEqual([]);
  expect(saidOf(entry(action, details), named)).toBeNull();
});

test("of what is known in part the thread tells that part, and the console the text, which has all of it", () => {
  const part = entry("UPDATED", '{"colour":"red","state":"closed"}');
  expect(happeningsOf([part]).map(({ deed }) => deed)).toEqual([{ is: "state", to: "closed", by }]);
  expect(saidOf(part, named)).toBeNull();
});

test("what was done to other things is no conversation's deed", () => expect(deedsOf(entry("UPDATED", '{"state":"closed"}', { entityType: "DOSSIER" }))).toEqual([]));

test("the thread tells the oldest first, each by a key of its own", () => {
  const told = happeningsOf([
    entry("UPDATED", '{"assignee":null,"state":"closed"}', { id: "2", at: "2026-11-16T12:02:00Z" }),
    entry("FLOOR_CHANGED", "from bot to human: no reason", { id: "1", at: "2026-11-16T12:01:00Z" }),
  ]);
  expect(told.map(({ deed }) => deed.is)).toEqual(["floor", "assigned", "state"]);
  expect(new Set(told.map(({ key }) => key)).size).toBe(3);
});
