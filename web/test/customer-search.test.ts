import { expect, test } from "vitest";

import { digitsIn, numberIn, customersMatching } from "../src/live/customer-search";
import { aConversation } from "./examples";

const person = (conversation_id: string, name: string | null, phone: string | null) =>
  aConversation({ conversation_id, contact: { contact_id: conversation_id, name, username: null, phone, user_id: null, dossier_id: null } });
const KNOWN = [person("1", "Grace Hopper", "+15550002222"), person("2", "Zoë Ångström", "+4930123456"), person("3", null, "+15550003333")];
const found = (words: string, most = 10) => customersMatching(words, KNOWN, most).map(({ conversation_id }) => conversation_id);

test.each([
  ["grace", ["1"]],
  ["HOPPER gr", ["1"]],
  ["ångström", ["2"]],
  ["grace lovelace", []],
  ["+1 (555) 000-2222", ["1"]],
  ["030 123", []],
  ["30 12-34", ["2"]],
  ["555000", ["1", "3"]],
  ["  ", []],
])("%j is found", (words, ids) => {
  expect(found(words)).toEqual(ids);
});

test("two digits are too few, and results are limited", () => {
  expect(found("22")).toEqual([]);
  expect(found("555000", 1)).toEqual(["1"]);
});

test("only a full number is requested from the server", () => {
  expect(digitsIn("order 66")).toBeNull();
  expect(numberIn("555-000")).toBeNull();
  expect(numberIn("+1 (555) 000‑2222")).toBe("+15550002222");
});
