/** Why a queued message waits, and until when if that is known. */

import type { OutboundMessage } from "../message/model";
import { words } from "./texts";

type Queued = Pick<OutboundMessage, "deferredBy" | "nextRetryAt" | "scheduledAt" | "errorCode" | "behind">;

/** In the order of the server's own explanation. */
export function waitReason({ deferredBy, nextRetryAt, scheduledAt, errorCode, behind }: Queued, now: number): readonly [string, string | null] {
  if (deferredBy !== null) return [words.waits[deferredBy] ?? deferredBy, nextRetryAt];
  if (nextRetryAt !== null && behind === null) return [errorCode === null ? words.between : `${words.between} (${errorCode})`, nextRetryAt];
  if (scheduledAt !== null && Date.parse(scheduledAt) > now) return [words.scheduled, scheduledAt];
  return [behind === null ? words.due : words.behind(behind), null];
}
