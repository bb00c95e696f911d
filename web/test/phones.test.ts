import { describe, expect, it } from "vitest";

import { encodeFile } from "../src/phones/sandbox-api";
import { answeredIn, choicesOf, quotedBy } from "../src/phones/choices";
import { codeOf, faultOf, kindOf, KINDS } from "../src/phones/faults";
import type { Line } from "../src/phones/model";
import { digitsOf, allPeople } from "../src/phones/people";

const line = (message: Record<string, unknown>, more: Partial<Line> = {}): Line => ({
  from: "business",
  wamid: "wamid.1",
  type: String(message["type"]),
  text: null,
  message,
  status: "delivered",
  at: "2026-01-01T00:00:00Z",
  ...more,
});

const interactive = (type: string, action: unknown) => line({ type: "interactive", interactive: { type, action } });

describe("tappable choices", () => {
  it("include buttons, which answer with their ID and message", () => {
    const asked = interactive("button", { buttons: [{ type: "reply", reply: { id: "y", title: "Yes" } }] });
    expect(choicesOf(asked).buttons).toEqual([
      { title: "Yes", answer: { type: "interactive", interactive: { type: "button_reply", button_reply: { id: "y", title: "Yes" } }, context: { id: "wamid.1" } } },
    ]);
  });

  it("include list rows", () => {
    const rows = [{ id: "1", title: "Red", description: "as a brick" }, { id: "2", title: "Blue" }];
    const { list } = choicesOf(interactive("list", { button: "Colours", sections: [{ title: "All", rows }] }));
    expect(list?.button).toBe("Colours");
    const answers = list?.sections[0]?.rows.map(({ answer }) => (answer as { interactive: { list_reply: unknown } }).interactive.list_reply);
    expect(answers).toEqual(rows);
  });

  it("include a template's quick replies, which answer as buttons", () => {
    const sent = line({ type: "template" }, { buttons: [{ type: "QUICK_REPLY", text: "Track", payload: "T1" }, { type: "URL", text: "Shop", url: "https://shop.test/1" }] });
    expect(choicesOf(sent).buttons).toEqual([
      { title: "Track", answer: { type: "button", button: { payload: "T1", text: "Track" }, context: { id: "wamid.1" } } },
      { title: "Shop", url: "https://shop.test/1" },
    ]);
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "//evil.test", ""])("have no link for %j", (url) => {
    const [choice] = choicesOf(interactive("cta_url", { name: "cta_url", parameters: { display_text: "Go", url } })).buttons;
    expect(choice).toEqual({ title: "Go" });
  });

  it.each([{}, { buttons: 7 }, { buttons: [null, 1, "x", {}] }, null])("tolerate invalid input: %j", (action) => {
    expect(() => choicesOf(interactive("button", action))).not.toThrow();
    expect(() => choicesOf(interactive("list", action))).not.toThrow();
  });

  it("quote the answered message, if it is on the screen", () => {
    const asked = line({ type: "text" }, { from: "customer", wamid: "wamid.9" });
    const answer = line({ type: "text", context: { message_id: "wamid.9" } });
    expect(quotedBy(answer, [asked, answer])).toBe(asked);
    expect(quotedBy(answer, [answer])).toBeNull();
    expect(quotedBy(asked, [asked, answer])).toBeNull();
  });

  it("are disabled after an answer", () => {
    const answer = line({ type: "interactive", context: { id: "wamid.1" } }, { from: "customer", wamid: "wamid.2" });
    const words = line({ type: "text", context: { id: "wamid.3" } }, { from: "customer" });
    expect([...answeredIn([answer, words])]).toEqual(["wamid.1"]);
  });
});

describe("faults", () => {
  it("map to the switch that created them", () => {
    for (const kind of KINDS) expect(kindOf({ id: "fault-1", left: null, ...faultOf(kind, 190) })).toBe(kind);
    expect(codeOf([{ id: "fault-1", left: null, ...faultOf("code", 130429) }])).toBe(130429);
  });

  it("created elsewhere map to no switch", () => {
    expect(kindOf({ id: "fault-1", left: 3, times: 3, delay_ms: 3000 })).toBeNull();
    expect(kindOf({ id: "fault-1", left: null, echo: false })).toBeNull();
  });
});

describe("people", () => {
  it.each([
    ["+1 (555) 000-3333", "15550003333"],
    ["4915112345678", "4915112345678"],
    ["12345", null],
    ["1234567890123456", null],
    ["hello", null],
    ["", null],
  ])("have %j as %j", (written, digits) => expect(digitsOf(written)).toBe(digits));

  it("are listed once, with the sandbox's names and unread counts", () => {
    const listed = [{ phone: "15550002222", name: "Grace Hopper", unread: 2 }, { phone: "15550009999", name: "Zoe", unread: 1 }];
    const all = allPeople([{ phone: "15550003333", name: "Lin" }], listed, "15550001111");
    expect(all.map(({ name, unread }) => [name, unread])).toEqual([["Ada", 0], ["Grace Hopper", 2], ["Lin", 0], ["Zoe", 1]]);
  });

  it("include the chosen one in a long list", () => {
    const listed = Array.from({ length: 20 }, (_, i) => ({ phone: String(16000000000 + i), name: "n", unread: 0 }));
    const all = allPeople([], listed, "16000000019");
    expect(all.length).toBeLessThan(12);
    expect(all.at(-1)?.phone).toBe("16000000019");
  });
});

it("a file is encoded byte by byte", async () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
  const { data, mime_type } = await encodeFile(new Blob([bytes], { type: "image/png" }));
  expect(mime_type).toBe("image/png");
  expect(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))).toEqual(bytes);
});
