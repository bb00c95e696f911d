import { expect, test } from "vitest";

import { addressOf as auditAddress, sentenceOf, wantedIn } from "../src/console/audit/entries";
import { Run, outcomeOf, partOf, type Posted } from "../src/console/batch/run";
import { fatesOf, groupsOf, isGivenUp, isOver, nextLook } from "../src/console/dead-letters/groups";
import { DEAD_LETTERS } from "../src/console/dead-letters/dead-letter-query";
import { adviceOn, type ErrorCode } from "../src/console/message/advice";
import { canBeRetried, gapsOf, summaryOf, type OutboundMessage } from "../src/console/message/model";
import { changeOf, cliOf, enteredOf, withoutSecrets } from "../src/console/numbers/form";
import { healthOf, type Gate, type Number_ } from "../src/console/numbers/health";
import { asSentence, moodOf, onFile, type Trial } from "../src/console/numbers/trial";
import { publicUrl } from "../src/console/numbers/public-url";
import { addressOf, cliOf as outboxCli, filtersIn, heldRows } from "../src/console/outbox/filters";
import { waitReason } from "../src/console/outbox/wait-reason";
import { componentsOf, type Template } from "../src/console/templates/filling";

const message = (more: Partial<OutboundMessage>): OutboundMessage => ({ id: 1, status: "FAILED", errorCode: "131026", channel: "WHATSAPP", ...more }) as OutboundMessage;

test("the URL selects the messages, and invalid values are ignored", () => {
  expect(filtersIn("?status=failed&to=%2B1555&dossier=7&before=90")).toEqual({ status: "FAILED", to: "+1555", dossier: 7, before: 90 });
  expect(filtersIn("?status=LOST&dossier=x&before=-1")).toEqual({ status: null, to: "", dossier: null, before: null });
  expect(addressOf({ status: "FAILED", to: "+1555", before: null })).toBe("/console/outbox?status=FAILED&to=%2B1555");
  expect(addressOf({})).toBe("/console/outbox");
  expect(outboxCli("acme", filtersIn("?status=FAILED&to=%2B1555"))).toBe("waypost admin outbox acme --status FAILED --to '+1555'");
});

test("rows do not move while the pointer is on the list", () => {
  const rows = [{ id: 5 }, { id: 4 }, { id: 3 }];
  expect(heldRows(rows, 4)).toEqual({ rows: [{ id: 4 }, { id: 3 }], fresh: 1 });
  expect(heldRows(rows, null)).toEqual({ rows, fresh: 0 });
});

test.each([
  [{ templateCode: "order", payloadJson: {} }, "Template order"],
  [{ payloadJson: { text: "Hello\n there" } }, "Hello there"],
  [{ payloadJson: { type: "text", text: { body: "Hi" } } }, "Hi"],
  [{ payloadJson: { type: "image", image: { id: "1", caption: "A cat" } } }, "Photo: A cat"],
  [{ payloadJson: { type: "interactive", interactive: { body: { text: "Choose" } } } }, "Choices: Choose"],
  [{ payloadJson: { type: "location", location: {} } }, "Location"],
  [{ subject: "Your order", payloadJson: { text: "…" } }, "Your order"],
  [{ payloadJson: null }, "(empty)"],
  [{ payloadJson: { text: "x".repeat(200) } }, `${"x".repeat(140)}…`],
])("the summary of %j is %s", (of, summary) => {
  expect(summaryOf({ templateCode: null, subject: null, ...of })).toBe(summary);
});

test("times between events, and which messages can be sent again", () => {
  const event = (at: string, kind: string) => ({ at, kind, detail: "" });
  expect(gapsOf([event("2026-11-16T12:00:00Z", "submitted"), event("2026-11-16T12:00:01.5Z", "claimed")])).toEqual([null, 1.5]);
  const parked = [event("2026-11-16T12:00:00Z", "unsure"), event("2026-11-16T12:10:00Z", "parked")];
  expect(canBeRetried(message({ status: "SENDING" }), parked)).toBe(true);
  expect(canBeRetried(message({ status: "SENDING" }), [...parked, event("2026-11-16T12:11:00Z", "retried")])).toBe(false);
  expect(canBeRetried(message({ status: "QUEUED" }), [])).toBe(false);
});

test("advice for an error: an exact code wins over a range, an unknown code is reported as such", () => {
  const row = (code: string, title: string, action: ErrorCode["action"]): ErrorCode => ({ code, title, action, retryable: false, rateLimit: false, scope: null });
  const catalogue = [row("200", "No token", "fail"), row("200-299", "API Permission", "hold"), row("131026", "Message undeliverable", "fail")];
  expect(adviceOn("200", catalogue).title).toBe("No token");
  expect(adviceOn("250", catalogue)).toMatchObject({ title: "API Permission", remedy: expect.stringContaining("until the cause is fixed") as string });
  expect(adviceOn("131026", catalogue).remedy).toContain("Check the number");
  expect(adviceOn("SESSION_EXPIRED", catalogue).title).toBe("The 24-hour window is closed");
  expect(adviceOn("99", catalogue).title).toContain("not in the catalogue");
});

test("a queued message continues automatically, and the advice is never to send it again", () => {
  const row = (code: string, action: ErrorCode["action"]): ErrorCode => ({ code, title: code, action, retryable: false, rateLimit: false, scope: null });
  const catalogue = [row("2", "retry"), row("4", "wait"), row("10", "hold")];
  for (const code of ["190", "131042", "131056", "CONNECTION_REFUSED", "UNKNOWN", "2", "4", "10", "99"]) {
    expect(adviceOn(code, catalogue, true).remedy).toContain("automatically");
    expect(adviceOn(code, catalogue, true).remedy).not.toMatch(/send/i);
  }
  expect(adviceOn("190", catalogue).remedy).toContain("send it again");
  expect(adviceOn("131026", catalogue, true).remedy).toContain("Check the number");
});

test("dead letters are grouped by error, the largest group first, and their outcomes are counted", () => {
  const letters = [message({ id: 9, errorCode: "190" }), message({ id: 8 }), message({ id: 7 }), message({ id: 6, errorCode: null })];
  expect(groupsOf(letters).map(({ code, messages }) => [code, messages.map(({ id }) => id)])).toEqual([["131026", [8, 7]], ["190", [9]], ["", [6]]]);
  const again = [message({ status: "DELIVERED" }), message({ status: "QUEUED" }), message({})];
  expect(fatesOf(again)).toEqual({ delivered: 1, sent: 0, waiting: 1, failed: 1, cancelled: 0 });
  expect(isOver(again)).toBe(false);
  expect(isOver([message({})])).toBe(true);
});

test("messages that were sent again are polled at growing intervals, for a limited time", () => {
  const looked = (status: "QUEUED" | "FAILED", count: number, after: number) => ({
    data: [message({ status })],
    dataUpdateCount: count,
    errorUpdateCount: 0,
    dataUpdatedAt: 1_000 + after,
    errorUpdatedAt: 0,
  });
  expect([1, 2, 40].map((count) => nextLook(looked("QUEUED", count, 0), 1_000))).toEqual([1_500, 2_250, 30_000]);
  expect(nextLook(looked("FAILED", 1, 0), 1_000)).toBe(false);
  expect([nextLook(looked("QUEUED", 15, 300_000), 1_000), isGivenUp(looked("QUEUED", 15, 300_000), 1_000)]).toEqual([false, true]);
  expect(isGivenUp(looked("FAILED", 15, 300_000), 1_000)).toBe(false);
});

test("dead letters are read at most once a minute", () => expect(DEAD_LETTERS.refetchInterval).toBeGreaterThanOrEqual(60_000));

test("an audit entry is a sentence, and an ID without a type is ignored", () => {
  expect(sentenceOf({ id: "1", at: "", entityType: "NUMBER", entityId: "106", action: "NUMBER_CHANGED", actor: "cli", details: "" })).toBe("Number 106 changed");
  expect(wantedIn("?id=7")).toEqual({ type: "", id: "" });
  expect(auditAddress({ type: "KEY", id: "a b" })).toBe("/console/audit?type=KEY&id=a+b");
});

test("the wait reason of a queued message matches the server's explanation", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  const queued = { deferredBy: null, nextRetryAt: null, scheduledAt: null, errorCode: null, behind: null };
  const later = "2026-11-16T13:00:00Z";
  expect(waitReason(queued, now)).toEqual(["Due", null]);
  expect(waitReason({ ...queued, behind: 7 }, now)).toEqual(["Queued behind 7", null]);
  expect(waitReason({ ...queued, behind: 7, errorCode: "131000", nextRetryAt: "2026-11-16T11:00:00Z" }, now)).toEqual(["Queued behind 7", null]);
  expect(waitReason({ ...queued, deferredBy: "hold", behind: 7 }, now)).toEqual(["On hold", null]);
  expect(waitReason({ ...queued, errorCode: "131000", nextRetryAt: later }, now)).toEqual(["Next attempt (131000)", later]);
  expect(waitReason({ ...queued, scheduledAt: later }, now)).toEqual(["Scheduled", later]);
});

const NUMBER = { phone_number_id: "106", org_id: "acme", waba_id: "102", graph_url: null, error_catalogue: "meta", enabled: true, pace: 80, tier: null, failover: null } as Number_;
const gate = (more: Partial<Gate>): Gate => ({ id: 1, name: "number:106", kind: "hold", code: "190", reason: "expired", since: "", until: null, waiting: 3, remedy: "a new token", ...more });

test("a number's health depends on its closed gates", () => {
  expect(healthOf(NUMBER, [gate({ name: "number:107" })])).toEqual({ mood: "good", text: "Active", remedy: null });
  expect(healthOf(NUMBER, [gate({ name: "account:102", until: "2026-11-16T13:00:00Z" }), gate({})])).toEqual({ mood: "bad", text: "On hold: 190 expired", remedy: "a new token" });
  expect(healthOf({ ...NUMBER, enabled: false }, [])).toMatchObject({ mood: "calm" });
});

test("a number that was never tried is not shown as verified", () => {
  const never = { ...NUMBER, tried_at: null };
  expect(healthOf(never, [])).toEqual({ mood: "calm", text: "Open (not tried yet)", remedy: null });
  expect(healthOf({ ...never, tried_at: "2026-11-16T12:00:00Z" }, [])).toMatchObject({ mood: "good", text: "Open (verified by Meta)" });
  expect(healthOf(never, [gate({})])).toMatchObject({ mood: "bad" });
  const refused = { state: "token_refused", at: "2026-11-16T12:00:00Z", said: "the provider refuses the token", remedy: "another one" } as Trial;
  expect(healthOf({ ...never, updated_at: "2026-11-16T11:00:00Z" }, [], refused)).toEqual({ mood: "bad", text: "The provider refuses the token", remedy: "another one" });
  expect(healthOf({ ...never, updated_at: "2026-11-16T13:00:00Z" }, [], refused)).toMatchObject({ text: "Open (not tried yet)" });
});

test("the provider's data is shown as far as it is available", () => {
  const trial = { state: "works", verified_name: "Shop", display_phone_number: "+1 555", quality: "GREEN", messaging_limit: "TIER_2K", status: "CONNECTED", webhook_url: null } as Trial;
  expect(onFile(trial)).toEqual([["Name", "Shop"], ["Phone number", "+1 555"], ["Quality", "high"], ["Messaging limit", "2,000 new customers per day"]]);
  expect(onFile({ ...trial, verified_name: null, display_phone_number: null, quality: "PURPLE", messaging_limit: "TIER_X", status: "PENDING" })).toEqual([["Quality", "PURPLE"], ["Messaging limit", "TIER_X"], ["Meta status", "PENDING"]]);
  expect([moodOf(trial), moodOf({ state: "token_refused" }), moodOf({ state: "refused" })]).toEqual(["good", "bad", "busy"]);
  expect(asSentence("the provider refuses")).toBe("The provider refuses");
});

test("only changed fields of a number are sent, and no secret is shown", () => {
  const entered = { ...enteredOf(NUMBER), token: " secret ", pace: "20", failover: "107" };
  const change = changeOf(NUMBER, entered);
  expect(change).toEqual({ token: "secret", pace: 20, failover: "107" });
  expect(changeOf(NUMBER, enteredOf(NUMBER))).toEqual({});
  expect(changeOf({ ...NUMBER, failover: "107" }, enteredOf(NUMBER))).toEqual({ failover: null });
  expect(JSON.stringify(withoutSecrets(change))).not.toContain("secret");
  expect(cliOf("acme", "106", change)).toBe("waypost admin change-number acme 106 --token 'TOKEN' --pace '20'\nwaypost admin failover acme 106 --to 107");
});

test.each([
  [null, "https://chat.example.com", { url: "https://chat.example.com", isGuess: true, isPublic: true }],
  [null, "http://127.0.0.1:8080", { url: "http://127.0.0.1:8080", isGuess: true, isPublic: false }],
  ["https://in.example.com/", "http://10.0.0.1", { url: "https://in.example.com", isGuess: false, isPublic: true }],
])("public URL for the setting %j on %s", (configured, origin, expected) => {
  expect(publicUrl(configured, origin)).toEqual(expected);
});

test("template parameters are filled in the message format", () => {
  const place = (component: string, name: string, kind = "text", index: number | null = null) => ({ component, name, kind, index });
  const template = { parameterFormat: "POSITIONAL", parameters: [place("header", "1", "image"), place("body", "1"), place("body", "2"), place("button", "1", "text", 1), place("button", "1", "coupon_code", 2)], components: [{ type: "BUTTONS", buttons: [{ type: "QUICK_REPLY" }, { type: "URL" }, { type: "COPY_CODE" }] }] } as unknown as Template;
  expect(componentsOf(template, { "body.1": "Ada", "button1.1": "x" })).toEqual([
    { type: "header", parameters: [{ type: "image", image: { link: "https://example.com/file" } }] },
    { type: "body", parameters: [{ type: "text", text: "Ada" }, { type: "text", text: "{{2}}" }] },
    { type: "button", sub_type: "url", index: "1", parameters: [{ type: "text", text: "x" }] },
    { type: "button", sub_type: "copy_code", index: "2", parameters: [{ type: "coupon_code", coupon_code: "{{1}}" }] },
  ]);
  expect(componentsOf({ ...template, parameterFormat: "NAMED", parameters: [place("body", "name")] } as Template, {})).toEqual([
    { type: "body", parameters: [{ type: "text", parameter_name: "name", text: "{{name}}" }] },
  ]);
});

const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ row: { number: n + 2, cells: { to: "+15550001111", text: String(n) }, wrong: null }, refused: null, doubt: null }));
const stored = (body: string): Posted => ({ results: (JSON.parse(body) as { messages: { payloadJson: { text: string } }[] }).messages.map(({ payloadJson }) => ({ status: 201, message: { id: Number(payloadJson.text) } as never })) });

test("a batch is sent in parts, can be stopped after a part, and resumes there", async () => {
  const sizes: number[] = [];
  const run: Run = new Run("f.csv", rows(450), {
    post: (body) => {
      const posted = stored(body);
      sizes.push("results" in posted ? posted.results.length : 0);
      if (sizes.length === 2) run.stop();
      return Promise.resolve(posted);
    },
    sleep: () => Promise.resolve(),
    notStored: "",
  });
  await run.go();
  expect([sizes, run.current.state.name, run.current.outcomes.size]).toEqual([[200, 200], "stopped", 400]);
  await run.go();
  expect([sizes, run.current.state.name, run.current.outcomes.size]).toEqual([[200, 200, 50], "finished", 450]);
});

test("the run waits for a busy server, ends if it is unreachable, and posts unstored lines again", async () => {
  const answers: ((body: string) => Posted)[] = [
    () => ({ waitSeconds: 2 }),
    () => ({ results: [{ status: 503 }, { status: 422, error: { detail: "to: wrong" } as never }] }),
    () => ({ broken: "gone" }),
    stored,
  ];
  let slept = 0;
  const run = new Run("f.csv", rows(2), {
    post: (body) => Promise.resolve((answers.shift() ?? stored)(body)),
    sleep: (seconds) => {
      slept += seconds;
      return Promise.resolve();
    },
    notStored: "",
  });
  await run.go();
  expect([run.current.state, slept, run.current.outcomes.get(3)]).toEqual([{ name: "broken", reason: "gone" }, 2, { kind: "refused", reason: "to: wrong" }]);
  await run.go();
  expect([run.current.state.name, run.current.outcomes.get(2)]).toEqual(["finished", { kind: "stored", id: 0 }]);
});

test("a part does not exceed the server's limit", () => {
  const line = (json: string) => ({ number: 1, json });
  expect(partOf([line("x".repeat(900_000)), line("x".repeat(900_000))])).toHaveLength(1);
  expect(partOf([line("x".repeat(2_000_000))])).toHaveLength(1);
  expect(outcomeOf({ status: 200, message: { id: 4 } as never })).toEqual({ kind: "there", id: 4 });
});
