/** Quick replies: matching, saving a row, and reporting errors. */

import { Unreachable, WaypostError } from "@waypost/client";
import { expect, test } from "vitest";

import { quickReplyQuery, faultOf, filledIn, matching, stepOf, suggestionsFor, restoredText, type Step } from "../src/inbox/quick-replies";
import { texts } from "../src/texts";

const HELLO = { name: "hello", text: "Hi" };
const THANKS = { name: "Thanks", text: "Thank you {name}" };

test("a leading slash searches quick replies by name or text", () => {
  const found = (text: string) => matching(quickReplyQuery(text) ?? "nothing", [THANKS, HELLO]);
  expect(quickReplyQuery("hi /tha")).toBeNull();
  expect(quickReplyQuery("/a\nb")).toBeNull();
  expect(found("/")).toHaveLength(2);
  expect(found("/THA")).toEqual([THANKS]);
  expect(found("/you")).toEqual([THANKS]);
  expect(found("/bye")).toEqual([]);
});

test("the customer's name is inserted literally", () => expect(filledIn("Thank you {name}", "$& Ada")).toBe("Thank you $& Ada"));

test.each<[string, string, typeof HELLO | null, Step]>([
  ["", " ", null, { is: "nothing" }],
  ["hello", "Hi", HELLO, { is: "nothing" }],
  [" /hello ", "Hi", HELLO, { is: "nothing" }],
  ["", "Hi", null, { is: "fault", fault: { field: "name", words: texts.quick.noName } }],
  ["a/b", "Hi", null, { is: "fault", fault: { field: "name", words: texts.quick.badName } }],
  ["..", "Hi", HELLO, { is: "fault", fault: { field: "name", words: texts.quick.badName } }],
  ["/new", "Hi", null, { is: "save", words: { name: "new", text: "Hi" }, replaces: null }],
  ["hello", "", HELLO, { is: "save", words: { name: "hello", text: "" }, replaces: "hello" }],
  ["Hello", "Hi", HELLO, { is: "save", words: { name: "Hello", text: "Hi" }, replaces: "hello" }],
  ["hey", "Hi", HELLO, { is: "save", words: { name: "hey", text: "Hi" }, replaces: "hello" }],
  ["grösse", "Hi", { name: "größe", text: "Hi" }, { is: "save", words: { name: "grösse", text: "Hi" }, replaces: "größe" }],
])("a row with %j and %j, saved as %j, needs %j", (name, text, saved, step) => expect(stepOf({ name, text }, saved)).toEqual(step));

test("suggestions are shown to teams without own quick replies, each once", () => {
  const [first, ...others] = texts.quick.first;
  expect(suggestionsFor([])).toEqual(texts.quick.first);
  expect(suggestionsFor([{ name: first?.name.toUpperCase() ?? "", text: "changed" }])).toEqual(others);
  expect(suggestionsFor([{ name: "own", text: "x" }])).toEqual([]);
});

test("a server error is shown at the field that it names", () => {
  const refusal = (detail: string, code = "invalid_payload") => faultOf(new WaypostError(code, detail, 422));
  expect(refusal("name: has white space: join its words")).toEqual({ field: "name", words: "The name has white space: join its words." });
  expect(refusal("text: is empty")).toEqual({ field: "text", words: "The text is empty." });
  expect(refusal("name: is that of the quick reply größe: choose another", "quick_reply_taken")).toEqual({ field: "name", words: "The name is that of the quick reply größe: choose another." });
  expect(refusal("replaces: this org has no quick reply hello", "quick_reply_gone")).toEqual({ field: null, words: texts.quick.gone });
  expect(refusal("this org has 200")).toEqual({ field: null, words: "The server rejected it: this org has 200." });
  expect(faultOf(new Unreachable("HTTP 503", 503))).toEqual({ field: null, words: texts.quick.away });
  expect(faultOf(new TypeError("a bug"))).toEqual({ field: null, words: texts.quick.away });
});

test("the button's slash is removed if nothing is chosen, and typed text is kept", () => {
  expect(restoredText("/", "")).toBe("");
  expect(restoredText("/", "begun before"), "the text before it is restored").toBe("begun before");
  expect(restoredText("/", null)).toBeNull();
  expect(restoredText("/tha", "")).toBeNull();
});
