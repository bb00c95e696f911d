/** The buttons and lists a customer can tap below a business message, and the messages they send. */

import { inside, listIn, textIn, type Line } from "./model";

export interface Choice {
  readonly title: string;
  readonly description?: string;
  /** The message that the phone sends. */
  readonly answer?: Readonly<Record<string, unknown>>;
  /** The link to open instead. */
  readonly url?: string;
}

export interface Choices {
  readonly buttons: readonly Choice[];
  readonly list: { readonly button: string; readonly sections: readonly { readonly title: string; readonly rows: readonly Choice[] }[] } | null;
}

const NONE: Choices = { buttons: [], list: null };

export function choicesOf(line: Line): Choices {
  if (line.from !== "business") return NONE;
  if (line.type === "template") return { buttons: templateButtons(line), list: null };
  if (line.type !== "interactive") return NONE;
  const action = inside(line.message, "interactive", "action");
  switch (textIn(line.message, "interactive", "type")) {
    case "button":
      return { buttons: listIn(action, "buttons").map((button) => reply(line, button)), list: null };
    case "list":
      return { buttons: [], list: { button: textIn(action, "button"), sections: listIn(action, "sections").map((each) => section(line, each)) } };
    case "cta_url":
      return { buttons: [{ title: textIn(action, "parameters", "display_text"), ...linkTo(textIn(action, "parameters", "url")) }], list: null };
    default:
      return NONE;
  }
}

function reply(line: Line, button: unknown): Choice {
  const [id, title] = [textIn(button, "reply", "id"), textIn(button, "reply", "title")];
  return { title, answer: interactive(line, { type: "button_reply", button_reply: { id, title } }) };
}

const section = (line: Line, value: unknown) => ({ title: textIn(value, "title"), rows: listIn(value, "rows").map((each) => row(line, each)) });

function row(line: Line, value: unknown): Choice {
  const [id, title, description] = [textIn(value, "id"), textIn(value, "title"), textIn(value, "description")];
  const reply = description === "" ? { id, title } : { id, title, description };
  return { title, ...(description !== "" && { description }), answer: interactive(line, { type: "list_reply", list_reply: reply }) };
}

const interactive = (line: Line, answer: object) => ({ type: "interactive", interactive: answer, context: { id: line.wamid } });

const templateButtons = (line: Line): readonly Choice[] =>
  (line.buttons ?? []).map(({ type, text, url, payload }) => {
    if (type === "QUICK_REPLY") return { title: text, answer: { type: "button", button: { payload, text }, context: { id: line.wamid } } };
    return { title: text, ...linkTo(url ?? "") };
  });

/** http and https only. */
const linkTo = (url: string): { url?: string } => (/^https?:\/\//i.test(url) ? { url } : {});

/** The message that a line replies to, if it is on the screen; taps are not quoted, since they follow their message. */
export function quotedBy(line: Line, lines: readonly Line[]): Line | null {
  if (line.type === "interactive" || line.type === "button") return null;
  const named = textIn(line.message, "context", "message_id") || textIn(line.message, "context", "id");
  return (named !== "" && lines.find(({ wamid }) => wamid === named)) || null;
}

/** The messages that a customer has answered by a tap; their buttons are disabled. */
export function answeredIn(lines: readonly Line[]): ReadonlySet<string> {
  const taps = lines.filter(({ from, type }) => from === "customer" && (type === "interactive" || type === "button"));
  return new Set(taps.map(({ message }) => textIn(message, "context", "id")));
}
