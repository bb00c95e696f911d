import { expect, test } from "vitest";

import { dayLabel, shortMoment } from "../src/time";
import { failureOf, initialsOf, nameOf, summaryOf } from "../src/display-text";
import { aConversation } from "./examples";

test("a customer is named by the best known field", () => {
  const contact = { contact_id: "7", name: null, username: null, phone: "+15550001111", user_id: null, dossier_id: null };
  expect(nameOf(aConversation({}))).toBe("Ada");
  expect(nameOf(aConversation({ contact }))).toBe("+15550001111");
  expect(nameOf(aConversation({ contact: { ...contact, phone: null } }))).toBe("Unnamed");
});

test.each([["Ada Lovelace", "AL"], ["ada", "A"], ["+1 555", "#"], ["", "#"], ["Éva  de Nagy", "ÉN"], ["<b>x</b>", "B"]])(
  "the initials of %s are %s",
  (name, initials) => expect(initialsOf(name)).toBe(initials),
);

test.each([
  [{ type: "text", text: "two\n lines" }, "two lines"],
  [{ type: "image", image: {} }, "Photo"],
  [{ type: "image", image: {}, text: "look" }, "Photo: look"],
  [{ type: "hologram", unknown: true }, "This message cannot be displayed"],
  [{ type: "note", text: "vip" }, "vip"],
  [{ type: "interactive", interactive: { type: "list_reply" }, text: "Monday" }, "Choice: Monday"],
  [{ type: "interactive", interactive: { type: "button" }, text: "When?" }, "Choices: When?"],
])("the summary of %j is %s", (content, summary) => expect(summaryOf(content)).toBe(summary));

test("a failure has a text for known codes, otherwise the provider's", () => {
  expect(failureOf("131026", "raw")).toContain("cannot receive");
  expect(failureOf("999", "raw")).toBe("raw");
  expect(failureOf(null, null)).toBe("The message was not delivered.");
});

test("recent days have names", () => {
  const now = new Date("2026-11-16T12:00:00");
  const labels = ["2026-11-16T00:01:00", "2026-11-15T23:59:00", "2026-11-12T10:00:00", "2026-03-01T10:00:00", "2025-03-01T10:00:00"];
  expect(labels.map((label) => dayLabel(label, now, "en"))).toEqual(["Today", "Yesterday", "Thursday", "March 1", "March 1, 2025"]);
  expect(shortMoment("2026-11-15T23:59:00", now, "en")).toBe("Yesterday");
});
