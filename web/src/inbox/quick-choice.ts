/** The quick reply menu that `/` opens, and its keys. */

import { useState, type KeyboardEvent } from "react";

import type { QuickReply } from "../model";
import { useQuickReplies } from "./quick-reply-requests";
import { quickReplyQuery, ASKS_FOR_ALL, matching, restoredText } from "./quick-replies";

export type Offer =
  | { readonly is: "waiting" }
  | { readonly is: "failed" }
  /** The team has no quick replies, as opposed to no matching ones. */
  | { readonly is: "none" }
  | { readonly is: "some"; readonly replies: readonly QuickReply[] };

export function useQuickChoice(text: string, write: (text: string) => void, take: (reply: QuickReply) => void) {
  const [at, setAt] = useState(0);
  const [left, setLeft] = useState<string | null>(null);
  /** The text before the button inserted its slash. */
  const [before, setBefore] = useState<string | null>(null);
  const asked = left === text ? null : quickReplyQuery(text);
  const { data, isError } = useQuickReplies(asked !== null);
  const offer = asked === null ? null : offerOf(asked, data, isError);
  const found = offer?.is === "some" ? offer.replies : [];
  const chosen = Math.min(at, Math.max(0, found.length - 1));
  const askForAll = (): void => {
    setLeft(null);
    if (quickReplyQuery(text) !== null) return;
    setBefore(text);
    write(ASKS_FOR_ALL);
  };
  /** Nothing was chosen: removes the slash that the button inserted. */
  const leave = (): boolean => {
    const again = restoredText(text, before);
    setBefore(null);
    if (again !== null) write(again);
    return again !== null;
  };
  const typed = (now: string): void => {
    if (quickReplyQuery(now) === null) setBefore(null);
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
    else if (!(event.key === "Enter" && !event.shiftKey && isUnknown)) return false; // a name that is still loading is not sent as a message
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
