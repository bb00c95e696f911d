/** Audit entries of a conversation: parsed once, described in the thread and in the console. */

import { expect, test } from "vitest";

import { describeDetails } from "../src/console/audit/details";
import { eventText } from "../src/inbox/thread-event";
import { auditActionsOf, type AuditAction } from "../src/live/audit-actions";
import { threadEventsOf } from "../src/live/thread-events";

const by = "user_1";
const named = (id: string) => (id === "user_1" ? "Ann" : id);
const entry = (action: string, details: string, more: { id?: string; at?: string; entityType?: string } = {}) => ({ id: "1", at: "", entityType: "CONVERSATION", entityId: "1", action, actor: by, details, ...more });

test.each<[string, string, readonly AuditAction[], string, readonly string[]]>([
  ["UPDATED", '{"assignee":"user_1"}', [{ is: "assigned", to: "user_1", by }], "Assigned to Ann", ["Ann self-assigned the conversation"]],
  ["UPDATED", '{"assignee":null}', [{ is: "assigned", to: null, by }], "Unassigned", ["Ann unassigned the conversation"]],
  ["UPDATED", '{"state":"closed"}', [{ is: "state", to: "closed", by }], "Closed", ["Ann closed the conversation"]],
  [
    ...["UPDATED", '{"labels":["vip","late"],"state":"open"}'] as const,
    [{ is: "labels", labels: ["vip", "late"], by }, { is: "state", to: "open", by }],
    ...["Labels: vip, late; reopened", ["Ann set labels: vip, late", "Ann reopened the conversation"]] as const,
  ],
  ["UPDATED", '{"labels":[]}', [{ is: "labels", labels: [], by }], "All labels removed", ["Ann removed all labels"]],
  ["UPDATED", '{"title":"Team"}', [{ is: "title", to: "Team", by }], "Renamed to “Team”", ["Ann renamed the conversation to “Team”"]],
  ["FLOOR_CHANGED", "from bot to user_1", [{ is: "floor", from: "bot", to: "user_1", why: null, by }], "From the bot to Ann", ["Ann took over"]],
  ["FLOOR_CHANGED", "from user_1 to bot: closed", [{ is: "floor", from: "user_1", to: "bot", why: "closed", by }], "From Ann to the bot: the conversation was closed", ["Ann handed back to the bot"]],
  ["FLOOR_CHANGED", "from bot to human: it fell:\ntwice", [{ is: "floor", from: "bot", to: "human", why: "it fell:\ntwice", by }], "From the bot to the team: it fell:\ntwice", ["Ann handed over to the team"]],
])("%s %s is parsed once and described in the thread and the console", (action, details, actions, sentence, lines) => {
  const entered = entry(action, details);
  expect(auditActionsOf(entered)).toEqual(actions);
  expect(describeDetails(entered, named)).toBe(sentence);
  expect(threadEventsOf([entered]).map(({ action }) => eventText(action, "me", named))).toEqual(lines);
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
])("%s %s has an unknown format: the thread omits it, the console shows the text", (action, details) => {
  expect(threadEventsOf([entry(action, details)])).toEqual([]);
  expect(describeDetails(entry(action, details), named)).toBeNull();
});

test("a partly known entry: the thread shows the known part, the console the full text", () => {
  const part = entry("UPDATED", '{"colour":"red","state":"closed"}');
  expect(threadEventsOf([part]).map(({ action }) => action)).toEqual([{ is: "state", to: "closed", by }]);
  expect(describeDetails(part, named)).toBeNull();
});

test("changes of other entities are not conversation actions", () => expect(auditActionsOf(entry("UPDATED", '{"state":"closed"}', { entityType: "DOSSIER" }))).toEqual([]));

test("the thread lists events oldest first, each with a unique key", () => {
  const events = threadEventsOf([
    entry("UPDATED", '{"assignee":null,"state":"closed"}', { id: "2", at: "2026-11-16T12:02:00Z" }),
    entry("FLOOR_CHANGED", "from bot to human: no reason", { id: "1", at: "2026-11-16T12:01:00Z" }),
  ]);
  expect(events.map(({ action }) => action.is)).toEqual(["floor", "assigned", "state"]);
  expect(new Set(events.map(({ key }) => key)).size).toBe(3);
});
