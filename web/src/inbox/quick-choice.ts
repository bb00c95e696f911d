/** The quick replies that `/` asks for, and the keys that choose one. */

import { useState, type KeyboardEvent } from "react";

import type { QuickReply } from "../model";
import { useQuickReplies } from "./quick-asking";
import { askedFor, ASKS_FOR_ALL, matching, takenBack } from "./quick-replies";

export type Offer =
  | { readonly is: "waiting" }
  | { readonly is: "failed" }
  /** The team has none at all, which is not the same as none that fits. */
  | { readonly is: "none" }
  | { readonly is: "some"; readonly replies: readonly QuickReply[] };

export function useQuickChoice(text: string, write: (text: string) => void, take: (reply: QuickReply) => void) {
  const [at, setAt] = useState(0);
  const [left, setLeft] = useState<string | null>(null);
  /** What was there before the button asked. */
  const [before, setBefore] = useState<string | null>(null);
  const asked = left === text ? null : askedFor(text);
  const { data, isError } = useQuickReplies(asked !== null);
  const offer = asked === null ? null : offerOf(asked, data, isError);
  const found = offer?.is === "some" ? offer.replies : [];
  const chosen = Math.min(at, Math.max(0, found.length - 1));
  const askForAll = (): void => {
    setLeft(null);
    if (askedFor(text) !== null) return;
    setBefore(text);
    write(ASKS_FOR_ALL);
  };
  /** Nothing was chosen: the button's own sign is no message to anybody. */
  const leave = (): boolean => {
    const again = takenBack(text, before);
    setBefore(null);
    if (again !== null) write(again);
    return again !== null;
  };
  const typed = (now: string): void => {
    if (askedFor(now) === null) setBefore(null);
  };
  const press = (event: KeyboardEvent): boolean => {
    if (offer === null) return false;
    const reply = found[chosen];
    const isTaking = event.key === "Enter" || event.key === "Tab";
    const isUnknown = offer.is === "waiting" || offer.is === "failed";
    if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else if (event.key === "Escape") setLeft(leave() ? null : text);
    else if (isTaking && reply !== undefined) take(reply);
    else if (!(event.key === "Enter" && !event.shiftKey && isUnknown)) return false; // what was meant as a name is not sent
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { offer, chosen, option: found[chosen], choose: take, press, askForAll, typed, leave };
}

function offerOf(asked: string, data: readonly QuickReply[] | undefined, isError: boolean): Offer {
  if (data === undefined) return { is: isError ? "failed" : "waiting" };
  return data.length === 0 ? { is: "none" } : { is: "some", replies: matching(asked, data) };
}
