/** In a list: why a message waits and until when, or with which error it ended. */

import { Moment } from "../kit";
import type { OutboundMessage } from "../message/model";
import styles from "./outbox.module.css";
import { words } from "./texts";

const SOON_MS = 5_000;

export function WhyItWaits({ message }: { readonly message: OutboundMessage }) {
  const { status, deferredBy, nextRetryAt, scheduledAt, errorCode, errorMessage } = message;
  if (status !== "QUEUED") return errorCode === null ? null : <span title={errorMessage ?? ""}>{errorCode}</span>;
  const [reason, until] = waitsFor(deferredBy, nextRetryAt, scheduledAt, errorCode);
  return (
    <span className={styles["why"]}>
      {reason}
      {until !== null && (
        <span>
          {words.next} {Date.parse(until) - Date.now() < SOON_MS ? words.soon : <Moment at={until} />}
        </span>
      )}
    </span>
  );
}

function waitsFor(rule: string | null, next: string | null, scheduled: string | null, error: string | null): readonly [string, string | null] {
  if (rule !== null) return [words.waits[rule] ?? rule, next];
  if (next !== null) return [error === null ? words.between : `${words.between} (${error})`, next];
  if (scheduled !== null && new Date(scheduled) > new Date()) return [words.scheduled, scheduled];
  return [words.due, null];
}
