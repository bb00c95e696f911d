import { expect, test } from "vitest";

import { belongs, FILTERS, mayLoadMore, type Filter } from "../src/live/filters";
import { contentsOf, kindOf, mayRetry, problemOf, type Attachment } from "../src/inbox/attachments";
import { cardsIn, choicesIn, mapOf, placeIn, sizeOf } from "../src/inbox/parts";
import { positionIn } from "../src/inbox/path";
import { componentsOf, contentOf, isFilled, sendable, wordsOfTemplate } from "../src/inbox/template-content";
import type { Template } from "../src/model";
import { texts } from "../src/texts";
import { aConversation } from "./examples";

const NOW = Date.parse("2026-11-16T12:00:00Z");

test.each<[Filter, object, boolean]>([
  ["open", {}, true],
  ["open", { state: "closed" }, false],
  ["closed", { state: "closed" }, true],
  ["mine", { assignee: "me" }, true],
  ["mine", { floor: "me", state: "closed" }, false],
  ["unassigned", { assignee: "other" }, false],
  ["bot", { floor: "human" }, false],
  ["waiting", { floor: "human" }, true],
  ["expired", { window_expires_at: "2026-11-16T12:00:00Z" }, true],
  ["expired", { window_expires_at: "2026-11-16T12:00:01Z" }, false],
  ["expired", { kind: "group" }, false],
])("the filter %s includes %j: %s", (filter, row, has) => expect(belongs(aConversation(row), filter, "me", NOW)).toBe(has));

test("only the list of closed conversations is loaded without a limit", () => {
  expect(FILTERS.filter((filter) => mayLoadMore(filter, 5_000, 200, 3))).toEqual(["closed"]);
  expect(FILTERS.filter((filter) => mayLoadMore(filter, 5_000, 200, 1_500))).toEqual([...FILTERS]);
});

const file = (kind: Attachment["kind"], name = "a"): Attachment => ({ key: name, file: { name } as File, kind, progress: 100, id: `id-${name}`, problem: null });

test("text is sent with the first file that can have a caption, otherwise separately", () => {
  expect(contentsOf([], "hi", undefined)).toEqual([{ type: "text", text: "hi" }]);
  expect(contentsOf([file("audio"), file("document", "b")], "hi", undefined)).toEqual([
    { type: "audio", audio: { id: "id-a" } },
    { type: "document", document: { id: "id-b", filename: "b", caption: "hi" } },
  ]);
  expect(contentsOf([file("audio")], "hi", undefined)).toHaveLength(2);
  expect(contentsOf([], "hi", { message_id: "w" })[0]).toMatchObject({ context: { message_id: "w" } });
});

test("files have a kind and a maximum size", () => {
  expect(["image/png", "image/webp", "audio/ogg; codecs=opus", "video/mp4", "", "text/html"].map(kindOf)).toEqual(["image", "document", "audio", "video", "document", "document"]);
  expect(problemOf({ size: 5_000_000 }, "image")).toBeNull();
  expect(problemOf({ size: 5_000_001 }, "image")).toBe("Too large: the limit for a photo is 5 MB.");
  expect([999, 1_500, 2_500_000].map(sizeOf)).toEqual(["999 B", "2 KB", "2.5 MB"]);
});

test("a failed upload can be retried, but not a file that WhatsApp does not support", () => {
  const retriable = (problem: string | null, size = 10) => mayRetry({ file: { size }, kind: "document", problem });
  expect(retriable(null)).toBe(false);
  expect(retriable(texts.attachments.failed)).toBe(true);
  expect(retriable(texts.attachments.refused)).toBe(false);
  expect(retriable(problemOf({ size: 200_000_000 }, "document"), 200_000_000)).toBe(false);
});

test("locations, contact cards and choices are parsed from any input", () => {
  expect(placeIn({ type: "location", location: { latitude: "52.5", longitude: 13.4 } })).toEqual({ latitude: 52.5, longitude: 13.4 });
  expect(placeIn({ type: "location", location: { latitude: "javascript:alert(1)", longitude: 1 } })).toBeNull();
  expect(mapOf({ latitude: 1, longitude: 2 })).toMatch(/^https:\/\/www\.openstreetmap\.org\//);
  expect(cardsIn({ contacts: [{ name: { first_name: "Ada", last_name: "L" }, phones: [{ phone: "+1" }, {}, 7] }, null, 3] })).toEqual([{ name: "Ada L", numbers: ["+1"] }]);
  expect(cardsIn({ contacts: "no" })).toEqual([]);
  expect(choicesIn({ interactive: { action: { buttons: [{ reply: { title: "Yes" } }, {}] } } })).toEqual(["Yes"]);
  expect(choicesIn({ interactive: { action: { sections: [{ rows: [{ title: "One" }] }, { rows: null }] } } })).toEqual(["One"]);
  expect(choicesIn({})).toEqual([]);
});

test.each([["", null], ["?at=12", 12], ["?x=1&at=3", 3], ["?at=x", null], ["?at=-1", null]])("the position in %s is %s", (search, position) =>
  expect(positionIn(search)).toBe(position),
);

const ORDER: Template = {
  wabaId: "1", id: "7", name: "order", language: "en", status: "APPROVED", category: "UTILITY", parameterFormat: "POSITIONAL",
  parameters: [
    { component: "header", index: null, kind: "image", name: "1" },
    { component: "body", index: null, kind: "text", name: "1" },
    { component: "body", index: null, kind: "text", name: "2" },
    { component: "button", index: 0, kind: "text", name: "1" },
  ],
  components: [{ type: "BODY", text: "Hello {{1}}, order {{2}}" }, { type: "FOOTER", text: "Bye" }],
};

test("a filled-in template becomes a message and is rendered as text again", () => {
  const values = { "header::1": "https://x/y.png", "body::1": "<b>Ada</b>", "body::2": "$1", "button:0:1": "track" };
  expect(isFilled(ORDER, {})).toBe(false);
  expect(isFilled(ORDER, values)).toBe(true);
  expect(componentsOf(ORDER, values)).toEqual([
    { type: "header", parameters: [{ type: "image", image: { link: "https://x/y.png" } }] },
    { type: "body", parameters: [{ type: "text", text: "<b>Ada</b>" }, { type: "text", text: "$1" }] },
    { type: "button", sub_type: "url", index: "0", parameters: [{ type: "text", text: "track" }] },
  ]);
  const sent = contentOf(ORDER, values)["template"] as Record<string, unknown>;
  expect(wordsOfTemplate(sent, [ORDER])).toBe("Hello <b>Ada</b>, order $1\nBye");
  expect(wordsOfTemplate(sent, [])).toBeNull();
  const named: Template = { ...ORDER, parameterFormat: "NAMED", parameters: [{ component: "body", index: null, kind: "text", name: "who" }] };
  expect(componentsOf(named, { "body::who": "Ada" })).toEqual([{ type: "body", parameters: [{ type: "text", text: "Ada", parameter_name: "who" }] }]);
});

test("only approved templates are offered, each language once", () => {
  expect(sendable([ORDER, { ...ORDER, wabaId: "2" }, { ...ORDER, name: "old", status: "REJECTED" }], "")).toEqual([ORDER]);
  expect(sendable([ORDER], "HELLO")).toEqual([ORDER]);
  expect(sendable([ORDER], "zzz")).toEqual([]);
});
