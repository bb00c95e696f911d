/** Formats the result of a trial. */

import type { components } from "../../api/schema";
import type { Mood } from "../kit";
import { trial as words } from "./texts";

export type Trial = components["schemas"]["TrialView"];

export const moodOf = ({ state }: Pick<Trial, "state">): Mood => (state === "works" ? "good" : state === "refused" || state === "not_ready" ? "busy" : "bad");

/** The server's texts start in lower case, since the CLI prints them after a name. */
export const asSentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The provider's data, as far as it is available. */
export function onFile({ verified_name, display_phone_number, quality, messaging_limit, status, webhook_url }: Trial): readonly (readonly [string, string])[] {
  const known: readonly (readonly [string, string | null])[] = [
    [words.name, verified_name],
    [words.number, display_phone_number],
    [words.quality, quality === null ? null : (words.qualities[quality] ?? quality)],
    [words.limit, messaging_limit === null ? null : limitOf(messaging_limit)],
    [words.status, status === "CONNECTED" ? null : status],
    [words.webhook, webhook_url],
  ];
  return known.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

const TIER = /^TIER_(\d+)(K?)$/;

function limitOf(tier: string): string {
  const [, digits, thousands] = TIER.exec(tier) ?? [];
  if (digits !== undefined) return words.customers(Number(digits) * (thousands === "K" ? 1_000 : 1));
  return words.limits[tier] ?? tier;
}
