/** How a number is doing, from what is closed in front of it. */

import type { components } from "../../api/schema";
import type { Mood } from "../kit";
import { words } from "./texts";
import { asSentence, moodOf, type Trial } from "./trial";

export type Number_ = components["schemas"]["NumberView"];
export type Gate = components["schemas"]["GateView"];

export interface Health {
  readonly mood: Mood;
  readonly said: string;
  /** What to do about it, where somebody has to. */
  readonly remedy: string | null;
}

/** A mailbox is not tried. */
type Sender = Pick<Number_, "phone_number_id" | "waba_id" | "org_id" | "enabled"> & Partial<Pick<Number_, "tried_at" | "updated_at">>;

/** Gates of the number itself, of its account and of the whole org; what holds until somebody acts comes first. */
export function gatesOf({ phone_number_id, waba_id, org_id }: Pick<Sender, "phone_number_id" | "waba_id" | "org_id">, gates: readonly Gate[]): readonly Gate[] {
  const names = [`number:${phone_number_id}`, `account:${waba_id}`, `org:${org_id}`, "app"];
  const found = gates.filter(({ name }) => names.includes(name));
  return found.sort((one, other) => Number(one.until !== null) - Number(other.until !== null));
}

/** `trial` is the latest one that was made here, if any. */
export function healthOf(number: Sender, gates: readonly Gate[], trial?: Trial): Health {
  if (!number.enabled) return { mood: "calm", said: words.disabled, remedy: null };
  const [worst] = gatesOf(number, gates);
  if (worst === undefined) return triedOf(number, trial) ?? proofOf(number);
  const reason = [worst.code, worst.reason].filter(Boolean).join(" ");
  return worst.until === null ? { mood: "bad", said: words.closed(reason), remedy: worst.remedy } : { mood: "busy", said: words.slow(reason), remedy: null };
}

/** Nothing stands in its way; whether it works is known once the provider was asked. */
function proofOf({ tried_at }: Sender): Health {
  if (tried_at === undefined) return { mood: "good", said: words.well, remedy: null };
  return tried_at === null ? { mood: "calm", said: words.untried, remedy: null } : { mood: "good", said: words.answers, remedy: null };
}

/** Null when it worked, or was tried with what it had before. */
function triedOf({ updated_at = "" }: Sender, trial: Trial | undefined): Health | null {
  if (trial === undefined || trial.state === "works" || Date.parse(trial.at) < Date.parse(updated_at)) return null;
  return { mood: moodOf(trial), said: asSentence(trial.said), remedy: trial.remedy };
}
