/** The health of a number, from its closed gates and trials. */

import type { components } from "../../api/schema";
import type { Mood } from "../kit";
import { words } from "./texts";
import { asSentence, moodOf, type Trial } from "./trial";

export type Number_ = components["schemas"]["NumberView"];
export type Gate = components["schemas"]["GateView"];

export interface Health {
  readonly mood: Mood;
  readonly text: string;
  /** The remedy, if action is required. */
  readonly remedy: string | null;
}

/** Mailboxes have no trials. */
type Sender = Pick<Number_, "phone_number_id" | "waba_id" | "org_id" | "enabled"> & Partial<Pick<Number_, "tried_at" | "updated_at">>;

/** Gates of the number, its account and the org; those that need a release come first. */
export function gatesOf({ phone_number_id, waba_id, org_id }: Pick<Sender, "phone_number_id" | "waba_id" | "org_id">, gates: readonly Gate[]): readonly Gate[] {
  const names = [`number:${phone_number_id}`, `account:${waba_id}`, `org:${org_id}`, "app"];
  const found = gates.filter(({ name }) => names.includes(name));
  return found.sort((one, other) => Number(one.until !== null) - Number(other.until !== null));
}

/** `trial` is the latest one of this session, if any. */
export function healthOf(number: Sender, gates: readonly Gate[], trial?: Trial): Health {
  if (!number.enabled) return { mood: "calm", text: words.disabled, remedy: null };
  const [worst] = gatesOf(number, gates);
  if (worst === undefined) return trialHealth(number, trial) ?? openHealth(number);
  const reason = [worst.code, worst.reason].filter(Boolean).join(" ");
  return worst.until === null ? { mood: "bad", text: words.closed(reason), remedy: worst.remedy } : { mood: "busy", text: words.slow(reason), remedy: null };
}

/** No closed gates; the provider confirms the number only after a trial. */
function openHealth({ tried_at }: Sender): Health {
  if (tried_at === undefined) return { mood: "good", text: words.well, remedy: null };
  return tried_at === null ? { mood: "calm", text: words.untried, remedy: null } : { mood: "good", text: words.answers, remedy: null };
}

/** Null if the trial succeeded, or the number was changed since. */
function trialHealth({ updated_at = "" }: Sender, trial: Trial | undefined): Health | null {
  if (trial === undefined || trial.state === "works" || Date.parse(trial.at) < Date.parse(updated_at)) return null;
  return { mood: moodOf(trial), text: asSentence(trial.said), remedy: trial.remedy };
}
