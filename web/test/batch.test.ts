import { expect, test } from "vitest";

import { checkRows, type OrgData, type Template } from "../src/console/batch/check";
import { NotCsv, readTable, writeCsv } from "../src/console/batch/csv";
import { keyOf, messageOf, wrongColumns } from "../src/console/batch/lines";
import { wrongRecipient } from "../src/console/batch/recipient";
import { sha256 } from "../src/console/batch/sha256";

const NOW = new Date("2026-11-16T12:00:00Z");
const row = (cells: Record<string, string>, number = 2) => ({ number, cells, wrong: null });

test.each([
  ["to,text\n1,a\n2,b", [[2, { to: "1", text: "a" }], [3, { to: "2", text: "b" }]]],
  ["\uFEFFto,text\r\n1,\"a, \"\"b\"\"\r\nc\"\r\n", [[2, { to: "1", text: 'a, "b"\r\nc' }]]],
  ["to,text\n\n1,\n", [[2, { to: "1" }]]],
  ["to;text\n1;a,b\n", [[2, { to: "1", text: "a,b" }]]],
  ["to\ttext\n1\ta;b\n", [[2, { to: "1", text: "a;b" }]]],
  ['to,text\n1,x"y\n', [[2, { to: "1", text: 'x"y' }]]],
  ["to,text\r1,2\r", [[2, { to: "1", text: "2" }]]],
])("%j is read as rows", (text, rows) => {
  expect(readTable(text).rows.map(({ number, cells }) => [number, cells])).toEqual(rows);
});

test.each(['to,text\n1,"a"b\n', 'to,text\n1,"a', '"to'])("%j is not CSV", (text) => {
  expect(() => readTable(text)).toThrow(NotCsv);
});

test("a row with a different number of cells is marked as wrong, the others are kept", () => {
  expect(readTable("to,text\n1\n2,b\n3,c,d").rows.map(({ wrong }) => wrong)).toEqual(["cells", null, "cells"]);
});

test("written CSV can be read again, and spreadsheets do not interpret it as formulas", () => {
  expect(writeCsv([["line", "reason"], ["2", 'a "b", c']])).toBe('line,reason\r\n2,"a ""b"", c"\r\n');
  expect(writeCsv([["=1+1", "+15550001111", "-3", "@x"]])).toBe("'=1+1,+15550001111,-3,'@x\r\n");
});

test.each([
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  ["abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"],
])("the digest of %j", (text, digest) => {
  expect(sha256(text)).toBe(digest);
});

test("a row has the same key as with waypost send", () => {
  const cells = { to: "+15550001111", templateCode: "order_confirmation", body2: "7", body10: "x", body1: 'Ada "A"\n\tz\u0001é🎉/\x7f\u2028' };
  expect(keyOf("orders.csv", row(cells))).toBe("csv-cc24c20b2e7885fad9bd5716b1829e2c65e2293b");
});

test("a row becomes the same message as with waypost send", () => {
  const message = (cells: Record<string, string>) => JSON.parse(messageOf(row({ idempotencyKey: "k", ...cells }), "f")) as unknown;
  expect(message({ to: "1", text: "hi", priority: "7", ordered: "true" })).toEqual({
    channel: "WHATSAPP", idempotencyKey: "k", to: "1", priority: 7, ordered: true, payloadJson: { text: "hi" },
  });
  expect(message({ to: "1", templateCode: "t", body2: "b", body1: "a" })).toMatchObject({
    templateCode: "t",
    payloadJson: { language: "en", components: [{ type: "body", parameters: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }] },
  });
  expect(messageOf(row({ to: "1", payloadJson: '{"n": 12345678901234567890}' }), "f")).toContain('"payloadJson":{"n": 12345678901234567890}}');
});

test("unknown columns are reported", () => {
  expect(wrongColumns(["text"])).toEqual({ missing: "to" });
  expect(wrongColumns(["to", "text", "Text"])).toEqual({ unknown: "Text" });
  expect(wrongColumns(["to", "body1", "body22", "payloadJson"])).toBeNull();
});

test.each([
  ["+1 (555) 000-1111", "WHATSAPP", null],
  ["00491701234567", "WHATSAPP", null],
  ["+١٢٣٤٥٦٧٨", "WHATSAPP", null],
  ["US.13491208655302741918", "WHATSAPP", null],
  ["12345", "WHATSAPP", "length"],
  ["+1555000111122223", "WHATSAPP", "length"],
  ["555-HELLO", "WHATSAPP", "characters"],
  ["1+5550001111", "WHATSAPP", "characters"],
  [" ", "WHATSAPP", "missing"],
  ["ann@example.com", "EMAIL", null],
  ["ann", "EMAIL", "email"],
])("%j on %s is %s", (to, channel, wrong) => {
  expect(wrongRecipient(to, channel)).toBe(wrong);
});

const body = (name: string) => ({ component: "body", index: null, kind: "text", name });
const template = (more: Partial<Template>): Template => ({
  wabaId: "1", id: "1", name: "order", language: "en", status: "APPROVED", category: "UTILITY", parameterFormat: "POSITIONAL", parameters: [body("1")], components: [], ...more,
});
const KNOWN: OrgData = {
  templates: [template({}), template({ name: "old", status: "REJECTED" }), template({ name: "link", parameters: [{ ...body("1"), component: "button", index: 0 }] })],
  numbers: ["106"],
};

test.each([
  [{ to: "+15550001111", text: "hi" }, null],
  [{ to: "+15550001111" }, "no content"],
  [{ to: "+15550001111", text: "hi", from: "7" }, "not one of your numbers"],
  [{ to: "+15550001111", text: "hi", channel: "SMS" }, "SMS"],
  [{ to: "+15550001111", text: "x".repeat(4097) }, "4096"],
  [{ to: "+15550001111", text: "hi", priority: "10" }, "priority"],
  [{ to: "+15550001111", text: "hi", dossierId: "0" }, "dossierId"],
  [{ to: "+15550001111", text: "hi", ordered: "yes" }, "ordered"],
  [{ to: "+15550001111", text: "hi", scheduledAt: "tomorrow" }, "scheduledAt"],
  [{ to: "+15550001111", text: "hi", expiresAt: "2026-11-16T11:00:00Z" }, "in the past"],
  [{ to: "+15550001111", payloadJson: "[1]" }, "JSON object"],
  [{ to: "+15550001111", templateCode: "order", body1: "Ada" }, null],
  [{ to: "+15550001111", templateCode: "order" }, "has 1 parameter, 0 given"],
  [{ to: "+15550001111", templateCode: "order", body1: "a", language: "de" }, "only in en"],
  [{ to: "+15550001111", templateCode: "ordre" }, "unknown template"],
  [{ to: "+15550001111", templateCode: "old", body1: "a" }, "REJECTED"],
  [{ to: "+15550001111", templateCode: "link" }, "payloadJson"],
] as [Record<string, string>, string | null][])("%j is refused for %j", (cells, reason) => {
  const [checked] = checkRows([row(cells)], KNOWN, NOW);
  if (reason === null) expect(checked?.refused).toBeNull();
  else expect(checked?.refused).toContain(reason);
});

test("rows are not rejected for data that could not be loaded", () => {
  const unknown = { templates: null, numbers: null };
  expect(checkRows([row({ to: "+15550001111", templateCode: "new", from: "9" })], unknown, NOW)[0]?.refused).toBeNull();
});

test("a repeated line gives a warning, one key with two contents is rejected", () => {
  const hi = { to: "+1 555 000 1111", text: "hi" };
  const rows = [row(hi, 2), row({ ...hi, to: "+15550001111" }, 3), row({ ...hi, idempotencyKey: "k" }, 4), row({ ...hi, text: "ho", idempotencyKey: "k" }, 5)];
  const checked = checkRows(rows, KNOWN, NOW);
  expect(checked.map(({ refused, doubt }) => [refused !== null, doubt])).toEqual([
    [false, null], [false, "same as line 2; both will be sent"], [false, "same as line 2; both will be sent"], [true, null],
  ]);
});
