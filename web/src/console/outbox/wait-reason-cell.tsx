/** A table cell: why a message waits and until when, or its error code. */

import { Moment } from "../kit";
import type { OutboundMessage } from "../message/model";
import styles from "./outbox.module.css";
import { words } from "./texts";
import { waitReason } from "./wait-reason";

const SOON_MS = 5_000;

export function WaitReason({ message }: { readonly message: OutboundMessage }) {
  const { status, errorCode, errorMessage } = message;
  if (status !== "QUEUED") return errorCode === null ? null : <span title={errorMessage ?? ""}>{errorCode}</span>;
  const [reason, until] = waitReason(message, Date.now());
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
